"""NVLink, PCIe, switches, GPUs, machines and networks: every number with its provenance.

Call a table with a name for one record, ask its plural for all of them.

>>> nvlink("4.0").per_gpu.text
'900 GB/s both ways'
>>> nvlink("4.0").per_gpu.one_way
450000000000.0
"""

# isort: off
from nvlearn.catalog.tables import (
    CatalogError, Fact, Figure, Gpu, MissingFigureError, NVLink, Record, Source, Switch, System,
    c2c, domain, fact, gpu, nic, nvlink, pcie, rival, sources, switch, system)
# isort: on

nvlinks, pcies, switches, gpus, systems = nvlink.all, pcie.all, switch.all, gpu.all, system.all
nics, rivals, domains, c2cs, facts = nic.all, rival.all, domain.all, c2c.all, fact.all
