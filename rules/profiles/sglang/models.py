"""Model functions of SGLang: what its kernels, runners, collectives and dispatchers do to factors and sums.

Never imported: the route analysis interprets these functions in place of the callees that the decorators name. The
names that are not defined here are the intrinsics of `moelint.linter.routes.intrinsics`. Sources are paths below
sglang/srt of release 0.5.23 unless said otherwise.
"""

from sglang.srt.configs.shared_experts import SharedExpertsConfig
from sglang.srt.layers.moe.expert_pack import ExpertPackMoEMethod
from sglang.srt.layers.moe.kt_ep_wrapper import KTEPWrapperMethod
from sglang.srt.layers.quantization.mxfp4_flashinfer_cutlass_moe import Mxfp4FlashinferCutlassMoEMethod
from sglang.srt.layers.quantization.mxfp4_flashinfer_trtllm_moe import Mxfp4FlashinferTrtllmMoEMethod
from sglang.srt.layers.quantization.mxfp4_marlin_moe import Mxfp4MarlinMoEMethod
from sglang.srt.model_executor.model_runner_components.moe_ep_setup import prepare_moe_topk
from sglang.srt.runtime_context import get_exec

# platform: utils/common.py


@model("sglang.srt.utils.common.is_cuda", "sglang.srt.utils.is_cuda")
def is_cuda():
    return flag("cuda")


@model("sglang.srt.utils.common.is_hip", "sglang.srt.utils.is_hip")
def is_hip():
    return flag("hip")


@model("sglang.srt.utils.common.is_npu", "sglang.srt.utils.is_npu")
def is_npu():
    return flag("npu")


@model("sglang.srt.utils.common.is_xpu", "sglang.srt.utils.is_xpu")
def is_xpu():
    return flag("xpu")


@model("sglang.srt.utils.common.is_musa", "sglang.srt.utils.is_musa")
def is_musa():
    return flag("musa")


@model("sglang.srt.utils.common.is_cpu", "sglang.srt.utils.is_cpu")
def is_cpu():
    return flag("cpu")


@model("sglang.srt.utils.common.cpu_has_amx_support", "sglang.srt.utils.cpu_has_amx_support")
def cpu_has_amx_support():
    return flag("cpu") and flag("AMX")


@model(
    "sglang.srt.utils.common.use_intel_amx_backend",
    "sglang.srt.utils.use_intel_amx_backend",
    "sglang.srt.layers.amx_utils.use_intel_amx_backend",
)
def use_intel_amx_backend(layer):
    return flag("cpu") and flag("AMX")


@model("sglang.srt.utils.common.get_bool_env_var", "sglang.srt.utils.get_bool_env_var")
def get_bool_env_var(name, default="false"):
    return flag("env:" + name)


# back ends: layers/moe/utils.py


@model("sglang.srt.layers.moe.utils.get_moe_a2a_backend")
def get_moe_a2a_backend():
    return back_end("a2a")


@model("sglang.srt.layers.moe.utils.get_moe_runner_backend")
def get_moe_runner_backend():
    return back_end("runner")


@model("sglang.srt.layers.moe.utils.should_use_flashinfer_cutlass_moe_fp4_allgather")
def fp4_all_gather():
    return flag("fp4 all-gather") and get_moe_a2a_backend().is_none()


@model("sglang.srt.layers.moe.utils.is_shared_experts_fusion_disabled")
def is_shared_experts_fusion_disabled():
    return flag("shared fusion disabled")


@model("sglang.srt.layers.moe.utils.get_num_fused_shared_experts")
def get_num_fused_shared_experts():
    if flag("shared fusion disabled") or not mentions("num_fusable_shared_experts"):
        return 0
    if mentions("n_shared_experts"):
        return symbol("config.n_shared_experts")
    return symbol("config.num_shared_experts")


@model("sglang.srt.runtime_context.get_model")
def get_model():
    result = namespace("model")
    fused = get_num_fused_shared_experts()
    result.shared_experts = SharedExpertsConfig(
        fusion_disabled=flag("shared fusion disabled"),
        num_fused_shared_experts=fused,
        use_waterfill=fused > 0 and get_exec().moe.enable_waterfill,
    )
    return result


# set-up after construction: model_executor/model_runner_components/moe_ep_setup.py


@model("@Model.modules")
def model_modules(self):
    return self.routers


@model("@after_init")
def after_init(routers):
    whole = instance("@Model", "model")
    whole.routers = routers
    prepare_moe_topk(model=whole, model_config=symbol("model_config"))


# experts: layers/moe/fused_moe_triton/layer.py, layers/moe/moe_runner/*


@model("sglang.srt.layers.moe.ep_moe.layer.get_moe_impl_class")
def get_moe_impl_class(quant_config=None):
    return build_experts


@model("sglang.srt.layers.moe.fused_moe_triton.layer.FusedMoE", "sglang.srt.layers.moe.ep_moe.layer.DeepEPMoE")
def build_experts(*args, **kwargs):
    experts = instance("@FusedMoE", "experts")
    experts.factor = kwargs.get("routed_scaling_factor")
    experts.should_fuse_routed_scaling_factor_in_topk = symbol("the experts' method folds the factor", "bool")
    experts.quant_method = symbol("experts.quant_method")
    experts.moe_runner_config = symbol("experts.moe_runner_config")
    experts.runner_backend = back_end("runner")
    experts.routing_method_type = symbol("routing_method_type")
    experts.dispatcher = instance("@Dispatcher", "experts.dispatcher")
    experts.dispatcher.experts = experts
    return experts


def output_is_complete():
    """An all-to-all combine returns complete rows (layers/moe/token_dispatcher); megamoe replaces the whole block, so
    its fall-back is the standard, partial path."""
    backend = get_moe_a2a_backend()
    return not (backend.is_none() or backend.is_megamoe()) or fp4_all_gather()


def runner_applies_factor(self):
    """moe_runner/triton_utils/fused_moe.py `moe_combine_topk` and the other runners; with an all-to-all dispatch the
    model's epilogue owns the factor (post-permutes return weights only)."""
    if self.factor is None:
        return False
    backend = get_moe_a2a_backend()
    if not (backend.is_none() or backend.is_flashinfer_megamoe() or backend.is_megamoe()):
        return False
    if self.should_fuse_routed_scaling_factor_in_topk:
        return False
    if isinstance(
        self.quant_method,
        (
            Mxfp4FlashinferTrtllmMoEMethod,
            Mxfp4FlashinferCutlassMoEMethod,
            Mxfp4MarlinMoEMethod,
            ExpertPackMoEMethod,
            KTEPWrapperMethod,
        ),
    ):
        return False
    if flag("cuda") or flag("musa") or flag("xpu"):
        return True
    if flag("hip"):
        return not flag("env:SGLANG_USE_AITER")
    return False


def run_experts(self, topk_output):
    run_hooks(self.dispatcher)
    if is_record(topk_output, "BypassedTopKOutput", "TritonKernelTopKOutput") and output_is_complete():
        raise RuntimeError("an all-to-all dispatch needs materialised top-k weights")
    if output_is_complete():
        state = "complete"
    else:
        state = "partial"
    if is_record(topk_output, "BypassedTopKOutput"):
        return run_bypassed(self, topk_output, state)
    if is_record(topk_output, "TritonKernelTopKOutput"):
        out = routed(1.0, state)
    else:
        out = routed(topk_output.topk_weights, state)
    if runner_applies_factor(self):
        out *= self.factor
    return out


def run_bypassed(self, topk_output, state):
    """In-kernel routing: the kernel takes the factor from the runner's configuration (flashinfer_trtllm.py)."""
    if self.factor is None and topk_output.topk_config.routed_scaling_factor is not None:
        return unknown("factor of the bypassed router", state)
    out = routed(1.0, state)
    if self.factor is not None:
        out *= self.factor
    return out


@model(
    "@FusedMoE.__call__",
    "@FusedMoE.forward",
    "@FusedMoE.forward_impl",
    "@FusedMoE.forward_deferred_finalize",
)
def experts_forward(self, hidden_states, topk_output, *args, **kwargs):
    return run_experts(self, topk_output)


@model("@FusedMoE.forward_deepep", "@FusedMoE.forward_normal")
def experts_forward_unpacked(self, hidden_states, topk_output=None, *args, **kwargs):
    return run_experts(self, topk_output)


@model("@FusedMoE.run_moe_core")
def run_moe_core(self, dispatch_output=None, *args, **kwargs):
    return run_experts(self, dispatch_output)


@model("@FusedMoE.combine")
def experts_combine(self, x=None, *args, **kwargs):
    return x


# dispatcher of the two-batch overlap: layers/moe/token_dispatcher/base.py


@model("@Dispatcher.dispatch_a")
def dispatch_a(self, hidden_states=None, topk_output=None, **kwargs):
    self.pending = topk_output


@model("@Dispatcher.dispatch_b")
def dispatch_b(self, **kwargs):
    return self.pending


@model("@Dispatcher.dispatch")
def dispatch(self, hidden_states=None, topk_output=None, **kwargs):
    return topk_output


@model("@Dispatcher.combine_a")
def combine_a(self, combine_input=None, **kwargs):
    self.combining = combine_input


@model("@Dispatcher.combine_b")
def combine_b(self, **kwargs):
    return self.combining


@model("@Dispatcher.combine")
def combine(self, combine_input=None, **kwargs):
    return combine_input


@model(
    "@Dispatcher.register_deepep_dispatch_hook",
    "@Dispatcher.register_post_dispatch_hook",
    "@Dispatcher.register_pre_combine_hook",
    "@Dispatcher.register_post_combine_hook",
    "@Dispatcher.register_pre_dispatch_hook",
)
def register_hook(self, hook):
    return add_hook(self, hook)


# MegaMoE: layers/moe/mega_moe.py


@model(
    "sglang.srt.layers.moe.mega_moe.run_mega_routed_experts",
    "sglang.srt.layers.moe.mega_moe_sm90.run_mega_routed_sm90",
)
def run_mega_routed_experts(experts, hidden_states, topk_ids, topk_weights, *, routed_scaling_factor=1.0, **kwargs):
    out = routed(topk_weights, "complete")
    out *= routed_scaling_factor
    return out


@model("sglang.srt.layers.moe.mega_moe._use_amd_flydsl_mega_moe")
def use_flydsl():
    return flag("hip") and get_moe_a2a_backend().is_megamoe() and flag("FlyDSL MegaMoE")


# the separate shared expert: a row-parallel MLP


@model("@SharedExpert.__call__", "@SharedExpert.forward")
def shared_expert(self, *args, **kwargs):
    if self.parallel_group == "replicated" or self.tp_size == 1:
        return shared("complete")
    if self.reduce_results:
        return shared("complete")
    return shared("partial")


# collectives: distributed/communication_op.py, layers/moe/utils.py


@model(
    "sglang.srt.distributed.communication_op.tensor_model_parallel_all_reduce",
    "sglang.srt.distributed.communication_op.moe_expert_parallel_all_reduce",
    "sglang.srt.distributed.communication_op.moe_tensor_model_parallel_all_reduce",
    "sglang.srt.distributed.tensor_model_parallel_all_reduce",
    "sglang.srt.distributed.moe_expert_parallel_all_reduce",
    "sglang.srt.distributed.moe_tensor_model_parallel_all_reduce",
)
def group_sum(x):
    return all_reduce(x)


@model("sglang.srt.layers.moe.utils.should_skip_mlp_all_reduce")
def should_skip_mlp_all_reduce():
    return flag("a later step reduces") or getattr(get_forward(), "told_to_leave_the_sum", False)


@model("sglang.srt.layers.moe.utils.post_experts_output_is_complete")
def post_experts_output_is_complete(*, is_tp_path):
    backend = get_moe_a2a_backend()
    return fp4_all_gather() or backend.is_flashinfer() or backend.is_pplx() or backend.is_flashinfer_megamoe()


@model("sglang.srt.layers.moe.utils.should_skip_post_experts_all_reduce")
def should_skip_post_experts_all_reduce(*, is_tp_path, **kwargs):
    return should_skip_mlp_all_reduce() or post_experts_output_is_complete(is_tp_path=is_tp_path)


@model("sglang.srt.layers.moe.utils.post_experts_all_reduce", "sglang.srt.layers.moe.utils.reduce_moe_output")
def post_experts_all_reduce(x):
    if should_skip_post_experts_all_reduce(is_tp_path=True):
        return x
    return all_reduce(x)


@model(
    "sglang.srt.layers.moe.utils.should_add_replicated_moe_output",
    "sglang.srt.layers.moe.utils.adds_replicated_output_to_partial",
)
def adds_replicated():
    return flag("this rank adds replicated outputs")


# stage boundaries: layers/layer_boundary. Since 0.5.22 the boundary behind an FFN sums what a sparse one leaves, unless
# every rank has rows of its own; before, `make_stages` left that to the block.


@model("sglang.srt.layers.layer_boundary.factories.declare_attn")
def declare_attn(**kwargs):
    stage = instance("@Stage", "attention stage")
    stage.owes = False
    return stage


@model("sglang.srt.layers.layer_boundary.factories.declare_ffn")
def declare_ffn(*, sparse=False, output_complete=False, **kwargs):
    stage = instance("@Stage", "ffn stage")
    stage.owes = sparse and not output_complete
    return stage


def stage_boundary(stage, sums):
    result = instance("@Boundary", "stage boundary")
    result.owes = sums and stage[0].owes
    result.fuse_mlp_allreduce = flag("a later step reduces")
    result.mlp_reduce_scatter = False
    return result


@model("sglang.srt.layers.layer_boundary.factories.append_stages")
def append_stages(first, second=None, **kwargs):
    if second is None:
        return (stage_boundary(first, True),)
    return stage_boundary(first, True), stage_boundary(second, True)


@model("sglang.srt.layers.layer_boundary.factories.make_stages")
def make_stages(first, second=None, **kwargs):
    if second is None:
        return (stage_boundary(first, False),)
    return stage_boundary(first, False), stage_boundary(second, False)


@model("@Boundary.prepare")
def boundary_prepare(self, x, *args, **kwargs):
    return x


@model("@Boundary.exit")
def boundary_exit(self, *args, **kwargs):
    return self


@model("@Boundary.finish")
def boundary_finish(self, x, *args, **kwargs):
    if self.owes and get_moe_a2a_backend().is_none() and not fp4_all_gather():
        return all_reduce(x)
    return x


# the forward's flags: runtime_context.py. `scoped` tells the block inside that its sum is left to a later step.


@model("sglang.srt.runtime_context.get_forward")
def get_forward():
    return shared_instance("@Forward", "runtime_context.get_forward()")


@model("@Forward.scoped")
def scoped(self, *, fuse_mlp_allreduce=False, mlp_reduce_scatter=False, **kwargs):
    result = instance("@Scope", "forward flags")
    result.forward = self
    result.before = getattr(self, "told_to_leave_the_sum", False)
    self.told_to_leave_the_sum = fuse_mlp_allreduce or mlp_reduce_scatter
    return result


@model("@Scope.__exit__")
def leave_scope(self):
    self.forward.told_to_leave_the_sum = self.before


# linear maps


@model("?.finish", "?.postprocess_layer", "?.postprocess")
def boundary(x, *args, **kwargs):
    return x


@model("?.apply_with_addend")
def linear_with_addend(projection, x, *, addend=None):
    if addend is None:
        return x
    return x + addend


@model("sglang.srt.models.llada2._get_effective_moe_runner_backend")
def effective_runner(experts):
    return experts.runner_backend


# merges


@model("sglang.srt.layers.moe.moe_runner.flashinfer_trtllm.finalize_flashinfer_trtllm_deferred_output")
def finalize_deferred(routed_output, shared_output=None):
    if shared_output is None:
        return routed_output
    return routed_output + shared_output


@model(
    "sglang.srt.layers.layer_boundary.fusions.cutedsl.MoeDeferredFinalize.from_flashinfer",
    "sglang.srt.layers.layer_boundary.fusions.moe_finalize.MoeDeferredFinalize.from_flashinfer",
)
def finalize_later(routed_output, gated_shared_output=None, **kwargs):
    if gated_shared_output is None:
        return routed_output
    return routed_output + gated_shared_output


@model("sglang.srt.layers.moe.moe_runner.flashinfer_trtllm.is_flashinfer_trtllm_deferred_output")
def is_deferred(x):
    return False


@model("torch.ops.sgl_kernel.shared_expert_cpu")
def shared_expert_cpu(hidden_states, w1, w2, routed_output, factor, *args):
    out = routed_output * factor
    return out + shared("partial")


@model("sglang.srt.hardware_backend.npu.utils.process_shared_expert")
def process_shared_expert(hidden_states, function):
    return function(hidden_states)


# routers: layers/moe/topk.py, kernels


@model("sglang.srt.layers.moe.topk.TopK.__call__", "sglang.srt.layers.moe.topk.TopK.forward")
def topk_forward(self, hidden_states, router_logits, **kwargs):
    if flag("cuda") or flag("hip") or flag("musa"):
        return self.forward_cuda(hidden_states, router_logits, **kwargs)
    if flag("npu"):
        return self.forward_npu(hidden_states, router_logits, **kwargs)
    if flag("xpu"):
        return self.forward_xpu(hidden_states, router_logits, **kwargs)
    return self.forward_cpu(hidden_states, router_logits, **kwargs)


@model("sglang.srt.layers.moe.hash_topk.HashTopK.__call__")
def hash_topk_forward(self, hidden_states, router_logits, *args, **kwargs):
    return self.forward(hidden_states, router_logits, symbol("input_ids"), **kwargs)


@model(
    "sglang.kernels.ops.moe.moe_fused_gate.moe_fused_gate",
    "sglang.kernels.ops.lora.moe.trtllm_lora_temp.kimi_k2_moe_fused_gate.kimi_k2_moe_fused_gate",
)
def moe_fused_gate(
    scores,
    bias,
    topk,
    *,
    num_fused_shared_experts=0,
    routed_scaling_factor=None,
    apply_routed_scaling_factor_on_output=False,
    **kwargs,
):
    w = weights()
    if num_fused_shared_experts:
        w[:, -1] = 1.0 / routed_scaling_factor
    if apply_routed_scaling_factor_on_output:
        w *= routed_scaling_factor
    return w, symbol("topk_ids")


@model("sgl_kernel.moe_fused_gate", "sgl_kernel.kimi_k2_moe_fused_gate")
def moe_fused_gate_grouped(
    scores,
    bias,
    groups,
    topk_groups=None,
    topk=None,
    *,
    num_fused_shared_experts=0,
    routed_scaling_factor=None,
    apply_routed_scaling_factor_on_output=False,
    **kwargs,
):
    w = weights()
    if num_fused_shared_experts:
        w[:, -1] = 1.0 / routed_scaling_factor
    if apply_routed_scaling_factor_on_output:
        w *= routed_scaling_factor
    return w, symbol("topk_ids")


@model("mate.moe_fused_gate")
def moe_fused_gate_musa(scores, bias, groups, topk_groups, topk, shared_slots, factor, renormalize, apply):
    w = weights()
    if shared_slots:
        w[:, -1] = 1.0 / factor
    if apply:
        w *= factor
    return w, symbol("topk_ids")


@model("sglang.srt.layers.moe.route_quant_handoff.try_route_quant_fused")
def try_route_quant_fused(
    scores,
    bias,
    topk,
    *,
    num_fused_shared_experts=0,
    renormalize=True,
    routed_scaling_factor=None,
    apply_routed_scaling_factor_on_output=False,
):
    if not flag("route and quantise in one kernel"):
        return None
    w = weights()
    if apply_routed_scaling_factor_on_output:
        w *= routed_scaling_factor
    return w, symbol("topk_ids")


@model("sglang.srt.layers.moe.topk.fused_topk_deepseek")
def fused_topk_deepseek(scores, bias, groups, topk_groups, topk, factor, topk_weights, topk_ids, *args, **kwargs):
    topk_weights *= factor


@model("aiter.biased_grouped_topk")
def aiter_biased_grouped_topk(
    scores, bias, topk_weights, topk_ids, groups, topk_groups, renormalize, routed_scaling_factor=1.0
):
    topk_weights *= routed_scaling_factor


@model("aiter.topk_gating")
def aiter_topk_gating(topk_weights, topk_ids, scores, bias, renormalize, routed_scaling_factor, score_func=None):
    topk_weights *= routed_scaling_factor


@model("sglang.kernels.ops.moe.rocm_router_gate.rocm_router_gate")
def rocm_router_gate(scores, bias, topk, renormalize, routed_scaling_factor, *, partials=None, num_shared=0):
    w = weights()
    w *= routed_scaling_factor
    if num_shared:
        w[:, -1] = 1.0
    return w, symbol("topk_ids")


@model("sglang.kernels.ops.moe.moe_route_radix4.route_radix4")
def route_radix4(scores, bias, topk, renormalize, factor):
    w = weights()
    w *= factor
    return w, symbol("topk_ids")


# A learned gate on the shared expert is part of the expert, not a factor: models/qwen2_moe.py


@model(
    "sglang.kernels.ops.elementwise.elementwise.sigmoid_gate_mul_broadcast",
    "sgl_kernel_npu.activation.fused_sigmoid_mul.fused_sigmoid_mul_broadcast",
)
def sigmoid_gate_mul(x, gate):
    return x * 1.0


@model("sglang.kernels.ops.elementwise.elementwise.fused_gate_sigmoid_mul")
def fused_gate_sigmoid_mul(hidden_states, gate_weight, x):
    return x * 1.0


@model("torch.ops.sgl_kernel.fused_linear_sigmoid_mul")
def fused_linear_sigmoid_mul(hidden_states, gate_weight, gate_bias, is_packed, x):
    return x * 1.0


@model("aiter.fused_moe.fused_topk", "aiter.fused_topk")
def aiter_fused_topk(*args, **kwargs):
    return weights(), symbol("topk_ids")


@model(
    "sglang.kernels.ops.moe.moe_topk_sigmoid.topk_sigmoid",
    "sgl_kernel.topk_sigmoid",
    "sglang.srt.hardware_backend.musa.kernels.topk.topk_sigmoid",
)
def topk_sigmoid(topk_weights, topk_ids, scores, renormalize, bias=None, scale=1.0, num_shared=0):
    topk_weights *= scale


@model("sgl_kernel.biased_topk")
def biased_topk_xpu(
    scores,
    bias,
    out,
    ids,
    topk,
    scoring,
    num_shared,
    renormalize,
    *,
    routed_scaling_factor=1.0,
    apply_routed_scaling_factor_on_output=False,
):
    if num_shared:
        out[:, -1] = 1.0 / routed_scaling_factor
    if apply_routed_scaling_factor_on_output:
        out *= routed_scaling_factor


@model("torch.ops.sgl_kernel.biased_grouped_topk_cpu")
def biased_grouped_topk_cpu(
    hidden_states, scores, bias, topk, renormalize, groups, topk_groups, num_shared, factor, num_token_non_padded=None
):
    w = weights()
    if factor is not None:
        w *= factor
    return w, symbol("topk_ids")


@model(
    "torch.ops.sgl_kernel.grouped_topk_cpu",
    "torch.ops.sgl_kernel.topk_softmax_cpu",
    "torch.ops.sgl_kernel.topk_sigmoid_cpu",
)
def plain_topk_cpu(*args, **kwargs):
    return weights(), symbol("topk_ids")


@model("torch.ops.npu.npu_moe_gating_top_k", "torch.ops.custom.npu_moe_gating_top_k")
def npu_gating(logits=None, *, routed_scaling_factor=1.0, **kwargs):
    w = weights()
    w *= routed_scaling_factor
    return w, symbol("topk_ids"), None


@model("torch.ops.npu.npu_moe_gating_top_k_softmax")
def npu_gating_softmax(*args, **kwargs):
    return weights(), symbol("topk_ids"), None


@model(
    "sglang.kernels.ops.moe.fused_moe_triton_kernels.fused_append_shared_experts",
    "sglang.srt.layers.moe.fused_moe_triton.fused_moe_triton_kernels.fused_append_shared_experts",
)
def fused_append_shared_experts(ids, topk_weights, num_shared, scale, base=None, **kwargs):
    out = topk_weights * 1.0
    out[:, -1] = scale
    return symbol("topk_ids"), out


@model("sglang.kernels.ops.moe.fused_moe_triton_kernels.fused_append_remap_shared_experts_deepep")
def fused_append_remap(ids, topk_weights, num_shared, weight, base, num_local, **kwargs):
    out = topk_weights * 1.0
    out[:, -1] = weight
    return symbol("topk_ids"), out


@model("sglang.kernels.ops.moe.dsv4.hash_topk")
def hash_topk_kernel(
    *, router_logits, input_ids, tid2eid, num_fused_shared_experts=0, routed_scaling_factor=1.0, **kwargs
):
    w = weights()
    if num_fused_shared_experts:
        w[:, -1] = 1.0 / routed_scaling_factor
    return w, symbol("topk_ids")


@model("sgl_kernel.hash_topk")
def hash_topk_xpu(scores, input_ids, table, topk_weights, topk_ids, factor, scoring):
    return None


@model("sglang.kernels.ops.moe.deepep_waterfill_kernels.materialize_waterfill_dispatch_fused")
def waterfill_dispatch(ids, topk_weights, load, num_routed, world_size, rank, shared_weight, **kwargs):
    out = topk_weights * 1.0
    out[:, -1] = shared_weight
    return symbol("topk_ids"), out


@model("sglang.srt.layers.moe.waterfill.expand_topk_with_shared_expert")
def waterfill_expand(ids, topk_weights, num_routed, world_size, rank, shared_weight):
    out = topk_weights * 1.0
    out[:, -1] = shared_weight
    return symbol("topk_ids"), out


@model("sglang.kernels.ops.moe.deepep_waterfill_kernels._empty_expanded")
def waterfill_empty(ids, topk_weights):
    return symbol("topk_ids"), topk_weights


@model("sglang.srt.eplb.expert_location_dispatch.transform_select_experts_inputs")
def transform_select_experts_inputs(router_logits, correction_bias, info):
    return router_logits, correction_bias


@model("sglang.srt.layers.moe.topk._simulate_balanced_routing", "sglang.srt.layers.moe.topk.apply_routing_simulation")
def simulated(*args, **kwargs):
    return None
