"""Compare SGLang's own kernels with plain torch and with the policy: on a GPU for real, on the CPU interpreted."""

from __future__ import annotations

import contextlib
import importlib
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any
from unittest import mock

import torch

from moelint.runtime_probe import measure
from moelint.runtime_probe.emitter import Emitter
from moelint.runtime_probe.frameworks.base import Configuration
from moelint.runtime_probe.frameworks.sglang import SGLang
from moelint.runtime_probe.frameworks.sglang_kernel_cases import Case, Sample, cases, interpreted
from moelint.runtime_probe.records import MATCHES, REACHED, VIOLATES, Expected, Job, Measurement, Unit

_ALLOWED = 2e-3
"""Largest difference of one weight: the runner's operands are float16."""


class KernelFramework(SGLang):
    """SGLang without blocks."""

    def shown(self, configuration: Configuration) -> dict[str, Any]:
        """Only what the case names."""
        return dict(configuration)

    def emulations(self, configuration: Configuration) -> tuple[str, ...]:
        """Triton's interpreter, where there is no GPU."""
        if self._job.device != "cpu":
            return ()
        return (f"platform:{self._job.platform}", "triton interpreter", "activation in torch")


class KernelProbe:
    """Runs the cases of each kernel."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._framework = KernelFramework(job)

    def about(self) -> dict[str, Any]:
        """Versions and fabrications, for the report."""
        return {"torch": torch.__version__, **self._framework.about()}

    def measure(self, unit: Unit) -> Iterator[Measurement]:
        """All cases of a kernel."""
        module = importlib.import_module(unit.module)
        with self._framework.entered({}), contextlib.ExitStack() as stack, torch.no_grad():
            if self._job.device == "cpu":
                for name, value in interpreted(module).items():
                    stack.enter_context(mock.patch.object(module, name, value))
            self._ready(stack)
            for case in cases(module, unit.block, self._job.device):
                yield self._measured(unit, case)

    def _ready(self, stack: contextlib.ExitStack) -> None:
        """Without a GPU its name is asked for in vain, to find the GEMM's tuned configuration."""
        if self._job.device != "cpu":
            return
        for name, module in list(sys.modules.items()):
            if name.endswith(".fused_moe_triton_config") and hasattr(module, "get_device_name"):
                stack.enter_context(mock.patch.object(module, "get_device_name", lambda *_: "interpreter"))

    def _measured(self, unit: Unit, case: Case) -> Measurement:
        started = time.monotonic()
        emit = Emitter(self._job, self._framework, unit, case.configuration)
        factors = (1.0, *self._job.factors)
        try:
            samples = {factor: case.kernel(factor) for factor in factors}
            plain = {factor: case.reference(factor) for factor in factors}
            return self._judged(emit, case, samples, plain, started)
        except Exception as error:
            return emit.failed("kernel", REACHED, error, started)

    def _judged(
        self,
        emit: Emitter,
        case: Case,
        samples: Mapping[float, Sample],
        plain: Mapping[float, Sample],
        started: float,
    ) -> Measurement:
        has_slot = plain[1.0].shared is not None
        routed = {factor: sample.routed.sum(-1).tolist() for factor, sample in samples.items()}
        shared = {factor: sample.shared.tolist() if has_slot else [0.0] for factor, sample in samples.items()}
        expected = Expected(
            routed_exponent=case.exponent,
            shared_exponent=0.0 if has_slot else None,
            baseline=float(plain[1.0].routed.sum(-1).mean()),
            shared=1.0 if has_slot else None,
        )
        measured = measure.weights(routed, shared, self._job.factors)
        verdict, reason = measure.judge(expected, measured, _ALLOWED)
        worst = max(float((samples[factor].routed - plain[factor].routed).abs().max()) for factor in samples)
        if not worst <= _ALLOWED * max(1.0, *self._job.factors):
            words = f"a weight is {worst:.2g} from torch's"
            verdict, reason = VIOLATES, f"{reason}; {words}" if verdict != MATCHES else words
        emit.notes = (f"largest difference from torch {worst:.1e}",)
        return emit.judged("kernel", verdict, reason, expected, measured, _ALLOWED, started)


def make(job: Job) -> KernelProbe:
    """Import the release for the job's platform."""
    return KernelProbe(job)
