"""The process between the parent and torchrun: limits what the ranks can reach, then becomes torchrun.

`python boot.py ranks.agent WORLD FOLDER RECORDS MEMORY_BYTES`
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from moelint.runtime_probe import limits
from moelint.runtime_probe.ranks import launch


def main(argv: Sequence[str]) -> int:
    """Never returns: the process is torchrun from here on."""
    world, folder, records, memory_bytes = argv
    missing = limits.isolate()
    os.environ.update(MOELINT_PROBE_MISSING=";".join(missing), **loopback())
    arguments = launch.torchrun(int(world), folder, (folder, records, memory_bytes))
    os.execv(sys.executable, [sys.executable, "-s", "-m", "torch.distributed.run", *arguments])


def loopback() -> dict[str, str]:
    """Variables that keep gloo and NCCL on this machine. NVLink multicast is left off."""
    return {
        "GLOO_SOCKET_IFNAME": "lo",
        "NCCL_SOCKET_IFNAME": "lo",
        "NCCL_DEBUG": "WARN",
        "NCCL_IB_DISABLE": "1",
        "NCCL_NVLS_ENABLE": "0",
        "TORCH_SYMM_MEM_DISABLE_MULTICAST": "1",
        "NVSHMEM_DISABLE_NVLS": "1",
    }
