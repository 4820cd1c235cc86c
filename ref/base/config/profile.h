/* Profiles: what an engine computes, as one row of choices. Every value of a choice names a function of ref/op,
 * or the points where one is applied; ref/model/ops.c turns a row into functions once per model, and no operation
 * knows of profiles. docs/profiles.md is printed from these tables. */
#ifndef TS_CONFIG_PROFILE_H
#define TS_CONFIG_PROFILE_H

#include <stdbool.h>
#include <stddef.h>

/* As computed; rounded once (RNE) at the store; or FP8 codes with a scale per token and head, which only the
 * reference stores and reads. */
typedef enum { TS_KV_REAL, TS_KV_BF16, TS_KV_F16, TS_KV_E4M3, TS_KV_E5M2 } ts_kv_dtype;

typedef enum { TS_STREAM_REAL, TS_STREAM_BF16 } ts_stream_choice;
typedef enum {
    TS_LINEAR_DOT32,
    TS_LINEAR_A64S8,
    TS_LINEAR_GGML,
    TS_LINEAR_GGML_GENERIC,
    TS_LINEAR_MLX_METAL,
    TS_LINEAR_MLX_CPU,
    TS_LINEAR_LSE_A,
    TS_LINEAR_LSE_B,
} ts_linear_choice;
typedef enum { TS_NORM_DOT32, TS_NORM_GGML, TS_NORM_LSE } ts_norm_choice;
typedef enum { TS_GATED_NORM_REAL, TS_GATED_NORM_BF16, TS_GATED_NORM_GGML, TS_GATED_NORM_LSE } ts_gated_norm_choice;
typedef enum { TS_L2NORM_EPS, TS_L2NORM_MEAN, TS_L2NORM_GGML, TS_L2NORM_LSE } ts_l2norm_choice;
typedef enum { TS_Q_SCALE_IN_NORM, TS_Q_SCALE_ON_OUTPUT } ts_q_scale_choice;
typedef enum { TS_CONV_REAL, TS_CONV_BF16 } ts_conv_choice;
typedef enum { TS_GATES_REAL, TS_GATES_BF16_BETA, TS_GATES_GGML, TS_GATES_LSE } ts_gates_choice;
typedef enum { TS_GDN_STEP, TS_GDN_CHUNK64_PREFILL, TS_GDN_GGML, TS_GDN_LSE, TS_GDN_LSE_B } ts_gdn_choice;
typedef enum {
    TS_ATTENTION_SPLIT128,
    TS_ATTENTION_EAGER_BF16,
    TS_ATTENTION_FLASH_GGML,
    TS_ATTENTION_SOFTMAX_GGML,
    TS_ATTENTION_LSE,
} ts_attention_choice;
typedef enum { TS_ANGLES_EXACT, TS_ANGLES_HF, TS_ANGLES_GGML } ts_angles_choice;
typedef enum { TS_ROTATE_REAL, TS_ROTATE_BF16 } ts_rotate_choice;
typedef enum { TS_SWIGLU_REAL, TS_SWIGLU_BF16, TS_SWIGLU_LSE } ts_swiglu_choice;
typedef enum { TS_GATE_REAL, TS_GATE_BF16 } ts_gate_choice;

/* All choices are of int's size; ts_choice_table knows where each lies. */
typedef struct {
    const char *name;
    const char *replays; /* whose numbers these are, and on which build that was seen */
    const char *but;     /* what of them is not replayed, "" if nothing */
    ts_linear_choice linear;
    ts_stream_choice stream;
    ts_norm_choice norm;
    ts_conv_choice conv;
    ts_l2norm_choice l2norm;
    ts_q_scale_choice q_scale;
    ts_gates_choice gates;
    ts_gdn_choice gdn;
    ts_gated_norm_choice gated_norm;
    ts_angles_choice angles;
    ts_rotate_choice rotate;
    ts_kv_dtype kv;
    ts_attention_choice attention;
    ts_swiglu_choice swiglu;
    ts_gate_choice gate;
} ts_profile;

typedef struct {
    const char *name, *means;
} ts_choice_value;

enum { TS_MAX_VALUES = 8 };

typedef struct {
    const char *name, *about;
    size_t offset; /* in ts_profile */
    ts_choice_value value[TS_MAX_VALUES];
} ts_choice;

/* NULL if there is no such profile. */
const ts_profile *ts_profile_find(const char *name);
const ts_profile *ts_profile_at(int i); /* NULL past the last */
const char *ts_profile_names(void);     /* "exact, ts, ...": for messages */

const ts_choice *ts_choice_at(int i); /* NULL past the last */
/* The index of the value that p holds for c, and setting it. */
int ts_choice_get(const ts_profile *p, const ts_choice *c);
void ts_choice_set(ts_profile *p, const ts_choice *c, int value);
/* "choice=value" changes p. False: no such choice, or no such value of it. */
bool ts_profile_change(ts_profile *p, const char *text);

/* Linears on MLX group-64 codes of 4 or 8 bits run as A64S8. */
bool ts_profile_codes(const ts_profile *p);
/* The house's orders, which are what schedules compute: every choice is the first, but for the KV cache and codes.
 */
bool ts_profile_is_house(const ts_profile *p);

/* "real", "bf16", "f16", "fp8-e4m3" and "fp8-e5m2". */
const char *ts_kv_name(ts_kv_dtype d);
bool ts_kv_find(const char *name, ts_kv_dtype *out);

#endif
