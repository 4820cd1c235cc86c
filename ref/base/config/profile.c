/* The tables of profiles and of their choices. */
#include "config/profile.h"

#include <stdio.h>
#include <string.h>

/* What is not named is the first value of its choice. */
static const ts_profile table[] = {
    {
        .name = "exact",
        .replays = "nobody: the mathematics, no codes and no rounding but f32's",
        .but = "",
        .linear = TS_LINEAR_DOT32,
        .kv = TS_KV_REAL,
    },
    {
        .name = "ts",
        .replays = "the host engine (`--engine fast`), to the bit",
        .but = "",
        .linear = TS_LINEAR_A64S8,
        .kv = TS_KV_BF16,
    },
    {
        .name = "hf",
        .replays = "transformers 5.17 in bf16, eager attention, torch's own path of the delta rule (read from its "
                   "source; no output of it in bf16 was at hand)",
        .but = "the order of every sum (BLAS decides it), torch's exp, pow, cos and sin (within 1 ulp)",
        .linear = TS_LINEAR_DOT32,
        .stream = TS_STREAM_BF16,
        .conv = TS_CONV_BF16,
        .gates = TS_GATES_BF16_BETA,
        .gdn = TS_GDN_CHUNK64_PREFILL,
        .gated_norm = TS_GATED_NORM_BF16,
        .angles = TS_ANGLES_HF,
        .rotate = TS_ROTATE_BF16,
        .kv = TS_KV_BF16,
        .attention = TS_ATTENTION_EAGER_BF16,
        .swiglu = TS_SWIGLU_BF16,
        .gate = TS_GATE_BF16,
    },
    {
        .name = "ggml",
        .replays =
            "llama.cpp v0.5.0 on the CPU, flash attention (its default); prebuilt linux-x64 of npm node-llama-cpp "
            "3.22.1",
        .but = "the order of sums over lanes (it follows the build's vector width, and AMX where the CPU has it), "
               "expf and "
               "logf (libm's or a polynomial, within 2 ulp), keys of one row cut among threads (512 cells of cache "
               "and more)",
        .linear = TS_LINEAR_GGML,
        .norm = TS_NORM_GGML,
        .l2norm = TS_L2NORM_GGML,
        .q_scale = TS_Q_SCALE_ON_OUTPUT,
        .gates = TS_GATES_GGML,
        .gdn = TS_GDN_GGML,
        .gated_norm = TS_GATED_NORM_GGML,
        .angles = TS_ANGLES_GGML,
        .kv = TS_KV_F16,
        .attention = TS_ATTENTION_FLASH_GGML,
    },
    {
        .name = "mlx",
        .replays =
            "mlx-lm on an MLX quantised model, Metal kernels (read from its source; no output of it was at hand)",
        .but = "the order of sums within a SIMD group, Metal's fast exp, cos and sin",
        .linear = TS_LINEAR_MLX_METAL,
        .stream = TS_STREAM_BF16,
        .conv = TS_CONV_BF16,
        .l2norm = TS_L2NORM_MEAN,
        .gates = TS_GATES_BF16_BETA,
        .kv = TS_KV_BF16,
        .swiglu = TS_SWIGLU_BF16,
        .gate = TS_GATE_BF16,
    },
    {
        .name = "lse",
        .replays =
            "LSE v0.4.1x to v0.4.23 on the R9700 (from descriptions of its kernels; hashes of its matmul classes "
            "and of its split attention are met, no output of a whole model was at hand). The number of rows "
            "picks a matmul's numerics, so prefill, verification and decoding differ in bits",
        .but =
            "the device's exp, log and rsqrt, which are near the nearest f32 that stands for them here; prefill's "
            "attention on matrix units (attention_wmma); sigmoid and silu outside the MLP and the gated norm; "
            "angles from libm's pow",
        .linear = TS_LINEAR_LSE_A,
        .norm = TS_NORM_LSE,
        .l2norm = TS_L2NORM_LSE,
        .gates = TS_GATES_LSE,
        .gdn = TS_GDN_LSE,
        .gated_norm = TS_GATED_NORM_LSE,
        .kv = TS_KV_BF16,
        .attention = TS_ATTENTION_LSE,
        .swiglu = TS_SWIGLU_LSE,
    },
};

enum { COUNT = sizeof table / sizeof *table };

#define CHOICE(field) #field, .offset = offsetof(ts_profile, field)

static const ts_choice choices[] = {
    {CHOICE(linear), .about = "y = x W^T",
     .value =
         {{"dot32", "matmul_dot32 on widened weights"},
          {"a64s8", "quantize_a64 and matmul_a64s8 where the weights are MLX group-64 of 4 or 8 bits; else dot32"},
          {"ggml", "by the format of the weights: activations in blocks of 8-bit codes (matmul_ggml), or rounded "
                   "to bf16 or f16 as the weights are, then matmul_dot32"},
          {"ggml_generic", "the same with Q8_0 and Q8_1 codes of activations by ggml's scalar rule (matmul_ggml)"},
          {"mlx_metal", "matmul_mlx: scale * sum(x code) + bias * sum(x), in f32"},
          {"mlx_cpu", "matmul_mlx_bf16: every product and sum rounded to bf16"},
          {"lse_a",
           "MLX group-64 codes of 4 bits by the number of rows: matmul_lse_a8, _a64 or _ex as builds before "
           "v0.5 have it; else dot32"},
          {"lse_b", "the same as v0.5.4 has it: matmul_lse_f16 from 16 rows on"}}},
    {CHOICE(stream), .about = "what linears, norms, convolution, attention and residual sums are stored as",
     .value = {{"real", "as computed"}, {"bf16", "round_bf16 after each"}}},
    {CHOICE(norm), .about = "RMS norm of the stream, of q and of k",
     .value = {{"rmsnorm", "rmsnorm: squares in order dot32"},
               {"rmsnorm_ggml", "rmsnorm_ggml: squares rounded, summed ascending in double"},
               {"rmsnorm_lse", "rmsnorm_lse: 256 partial sums, folded"}}},
    {CHOICE(conv), .about = "short convolution of the linear layers",
     .value = {{"conv1d", "conv1d: silu of the sum as it is"},
               {"conv1d_bf16", "conv1d_bf16: the sum is rounded before silu"}}},
    {CHOICE(l2norm), .about = "norm of q and k in the linear layers",
     .value = {{"l2norm", "l2norm: x / sqrt(sum + 1e-6)"},
               {"l2norm_mean", "l2norm_mean: x / sqrt(mean + 1e-6) D^-0.5"},
               {"l2norm_ggml", "l2norm_ggml: x / sqrt(mean + 1e-6 / D) D^-0.5, sums as rmsnorm_ggml"},
               {"l2norm_lse", "l2norm_lse for one row, l2norm_lse_rows for more: x / max(norm, 1e-6)"}}},
    {CHOICE(q_scale), .about = "where Dk^-0.5 multiplies",
     .value = {{"norm", "q, in its norm"}, {"output", "the output of the delta rule"}}},
    {CHOICE(gates), .about = "decay and write strength",
     .value = {{"gdn_gates", "gdn_gates: beta as computed"},
               {"gdn_gates_bf16", "gdn_gates_bf16: beta rounded"},
               {"gdn_gates_ggml", "gdn_gates_ggml: softplus as log(1 + exp(x))"},
               {"gdn_gates_lse", "gdn_gates_lse: the same, beta clamped to 1e-4 .. 1 - 1e-4"}}},
    {CHOICE(gdn), .about = "the gated delta rule",
     .value = {{"step", "gdn_step, a token at a time"},
               {"chunk64_prefill", "gdn_chunk64 for two rows and more, gdn_step for one"},
               {"gdn_step_ggml", "gdn_step_ggml: dots in order dot32, the output scaled"},
               {"gdn_step_lse", "gdn_step_lse: dots in the 32 lanes of a wave"},
               {"lse_b", "gdn_scan_lse for 16 rows and more, as v0.5.4 has it, gdn_step_lse for less"}}},
    {CHOICE(gated_norm), .about = "norm and gate of the delta rule's output",
     .value = {{"gated_norm", "gated_norm"},
               {"gated_norm_bf16", "gated_norm_bf16: rounded after the norm and after the weight"},
               {"gated_norm_ggml", "gated_norm_ggml: squares as rmsnorm_ggml"},
               {"gated_norm_lse", "gated_norm_lse: squares as rmsnorm_lse"}}},
    {CHOICE(angles), .about = "cos and sin of RoPE",
     .value = {{"exact", "of the double product, rounded to f32"},
               {"hf", "of the f32 product with the f32 frequency, rounded to bf16"},
               {"ggml", "of an f32 angle that is multiplied by theta^(-2/R) from one pair to the next"}}},
    {CHOICE(rotate), .about = "the rotation",
     .value = {{"rope", "rope: f32"}, {"rope_bf16", "rope_bf16: both products rounded"}}},
    {CHOICE(kv), .about = "what the KV cache holds",
     .value = {{"real", "as computed"},
               {"bf16", "kv_store, rounded to bf16"},
               {"f16", "kv_store, rounded to f16"},
               {"fp8-e4m3", "kv_store, FP8 codes with a scale per token and head"},
               {"fp8-e5m2", "the same with fewer bits of fraction"}}},
    {CHOICE(attention), .about = "softmax attention",
     .value = {{"split128", "attention: partitions of 128 keys, f32"},
               {"eager_bf16", "attention_bf16: scores, scaled scores and weights rounded to bf16"},
               {"flash_ggml",
                "attention_flash_ggml: running maximum; for less than 64 rows q and the running output "
                "are rounded to f16"},
               {"softmax_ggml", "attention_softmax_ggml: q and the weights rounded to f16"},
               {"split128_lse",
                "attention_lse: split128 with another order of the dot and the nearest f32 of exp"}}},
    {CHOICE(swiglu), .about = "silu of the MLP, times the other half",
     .value = {{"swiglu", "swiglu"},
               {"swiglu_bf16", "swiglu_bf16: silu rounded before the product"},
               {"swiglu_lse", "swiglu_lse: the nearest f32 of exp"}}},
    {CHOICE(gate), .about = "output gate of attention",
     .value = {{"sigmoid_gate", "sigmoid_gate"},
               {"sigmoid_gate_bf16", "sigmoid_gate_bf16: the sigmoid rounded before the product"}}},
};

enum { CHOICES = sizeof choices / sizeof *choices };

const ts_profile *ts_profile_at(int i)
{
    return i >= 0 && i < COUNT ? &table[i] : NULL;
}

const ts_profile *ts_profile_find(const char *name)
{
    for (int i = 0; i < COUNT; i++)
        if (strcmp(table[i].name, name) == 0)
            return &table[i];
    return NULL;
}

const char *ts_profile_names(void)
{
    return "exact, ts, hf, ggml, mlx, lse";
}

const ts_choice *ts_choice_at(int i)
{
    return i >= 0 && i < CHOICES ? &choices[i] : NULL;
}

int ts_choice_get(const ts_profile *p, const ts_choice *c)
{
    int value;
    memcpy(&value, (const char *)p + c->offset, sizeof value);
    return value;
}

void ts_choice_set(ts_profile *p, const ts_choice *c, int value)
{
    memcpy((char *)p + c->offset, &value, sizeof value);
}

static bool change(ts_profile *p, const ts_choice *c, const char *value)
{
    for (int v = 0; v < TS_MAX_VALUES && c->value[v].name; v++)
        if (strcmp(c->value[v].name, value) == 0) {
            ts_choice_set(p, c, v);
            return true;
        }
    return false;
}

bool ts_profile_change(ts_profile *p, const char *text)
{
    size_t n = strcspn(text, "=");
    for (int i = 0; i < CHOICES && text[n]; i++)
        if (strlen(choices[i].name) == n && memcmp(choices[i].name, text, n) == 0)
            return change(p, &choices[i], text + n + 1);
    return false;
}

bool ts_profile_codes(const ts_profile *p)
{
    return p->linear == TS_LINEAR_A64S8;
}

bool ts_profile_is_house(const ts_profile *p)
{
    ts_profile rest = *p;
    bool house = p->linear == TS_LINEAR_DOT32 || p->linear == TS_LINEAR_A64S8;
    rest.linear = TS_LINEAR_DOT32;
    rest.kv = TS_KV_REAL;
    for (int i = 0; i < CHOICES; i++)
        house &= ts_choice_get(&rest, &choices[i]) == 0;
    return house;
}

/* The choice of the KV cache, whose values have these names. */
static const ts_choice *kv_choice(void)
{
    int i = 0;
    while (strcmp(choices[i].name, "kv") != 0)
        i++;
    return &choices[i];
}

const char *ts_kv_name(ts_kv_dtype d)
{
    return kv_choice()->value[d].name;
}

bool ts_kv_find(const char *name, ts_kv_dtype *out)
{
    ts_profile p = {.kv = TS_KV_REAL};
    bool found = change(&p, kv_choice(), name);
    if (found)
        *out = p.kv;
    return found;
}
