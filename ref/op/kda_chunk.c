#include "kda_chunk.h"

/* Kimi Delta Attention in its chunk form: kda_step's function of the same arguments (shapes there), another order
 * for every length `chunk`, 1 to 256; chunks are cut as gdn_chunk cuts them. The equations stand in kda_chunk.h, in
 * the order they run.
 *
 * Rounded: G_i = G_{i-1} + g_i and every difference under exp; beta k, its product with the left factor; k_j times
 * the right one; q times the left one; beta v, (beta k) exp(G), q exp(G), k exp(G_{L-1} - G_i); every fma of every
 * chain (ascending, starting as in gdn_chunk); U - W S; the decay of S. */
void ts_kda_chunk(const ts_gdn_args *a)
{
    ts_kda_chunks(a, ts_exp, 1);
}
