"""Read the printouts of a real machine and say what they mean.

`read(text)` finds `nvidia-smi topo -m`, `nvidia-smi nvlink --status` and nccl-tests in a paste.
"""

from nvlearn.field.documents import read
from nvlearn.field.findings import Document, Finding, ReadError, Unsupported, codes
