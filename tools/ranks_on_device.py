"""Pack releases for a machine with two GPUs and no network, and print the command that runs blocks on two ranks there.

    python tools/ranks_on_device.py --releases /path/to/releases 0.5.20 0.5.21 0.5.22 0.5.23

The archive is written to .device/ and must stay below 64 MiB; the probe itself is that of the tree, which travels too.
The command measures every block of the last version, and of the others `step3p5.py`, the reduction exam: over NCCL on
two GPUs, over gloo and as threads on the CPU. It leaves $OUT/ranks.tar.gz with a report and a log for each.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from probe_on_device import arguments, offer

_KINDS = {
    "nccl": "--device cuda --launcher torchrun --backend nccl",
    "gloo": "--launcher torchrun --backend gloo",
    "threads": "--launcher threads",
}


def command(versions: Sequence[str], seconds: int) -> str:
    """The command line for the machine; all runs at the same time, each for about `seconds`."""
    one = (
        "python3 /tmp/p/runtime_probe/boot.py cli /tmp/p/$v/sglang $c --platform cuda --world 2 --timeout 90 "
        f"--budget {seconds} --memory 65536 --no-progress --json $OUT/d/$v-$1.json $2 > $OUT/d/$v-$1.txt 2>&1 &"
    )
    runs = "; ".join(f"r {kind} '{options}'" for kind, options in _KINDS.items())
    return "; ".join(
        (
            "mkdir -p /tmp/p $OUT/d && tar -xJf .device/probe.tar.xz -C /tmp/p && cp -r runtime_probe /tmp/p/",
            "python3 -m pip install -q --no-index --no-deps --target /tmp/site /tmp/p/wheels/*.whl",
            "export MOELINT_PROBE_PATH=/tmp/site PYTHONUNBUFFERED=1 OMP_NUM_THREADS=2 CUDA_HOME=/usr/local/cuda",
            "export NCCL_NVLS_ENABLE=0; (nvidia-smi -L; nvidia-smi topo -m) | tee $OUT/d/machine.txt",
            f"r() {{ {one} }}",
            f"for v in {' '.join(versions)}; do c='--class step3p5.py'; [ $v = {versions[-1]} ] && c=; {runs}; done",
            "wait; tail -n 2 $OUT/d/*-*.txt; tar -czf $OUT/ranks.tar.gz -C $OUT d; rm -r $OUT/d",
        )
    )


def main() -> int:
    """Pack, check the size, print what to do."""
    parser = arguments(__doc__)
    parser.add_argument("--seconds", type=int, default=330, help="time budget of each report")
    options = parser.parse_args()
    return offer(options, {}, command(options.versions, options.seconds))


if __name__ == "__main__":
    sys.exit(main())
