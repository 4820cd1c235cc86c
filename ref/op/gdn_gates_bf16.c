#include "op.h"

/* gdn_gates whose beta is stored as bf16: torch's sigmoid of a bf16 tensor. g stays as it is (torch widens a
 * first). Shapes and roundings as gdn_gates, then round_bf16 of beta. Source: transformers 5.17,
 * Qwen3_5GatedDeltaNet. */
void ts_gdn_gates_bf16(const ts_gdn_gates_args *a)
{
    ts_gdn_gates(a);
    for (int64_t i = 0; i < a->T * a->H; i++)
        a->beta[i] = ts_round_bf16(a->beta[i]);
}
