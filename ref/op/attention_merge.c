#include "op.h"
#include "split128.h"

/* M = max m over the records with l != 0, and over those, ascending: g = exp(m - M), L = L + g l, O = O + g acc;
 * o = O / L (Dao et al., Flash-Decoding, 2023; partial softmaxes: Milakov and Gimelshein, arXiv 1805.02867). A
 * record with l = 0 is absent, whatever else it holds: anywhere in the list it changes no bit. A NaN in another
 * shows.
 *
 * m, l [T,Hq,parts], acc [T,Hq,parts,D]; o [T,Hq,D], M, L [T,Hq]; no record with l != 0: +0, -inf, 0.
 * Rounded: m - M, exp, the fma of L and O, the quotient. */
void ts_attention_merge(const ts_attention_merge_args *a)
{
    const ts_split_out all = {.o = a->o, .M = a->M, .L = a->L};
    for (int64_t i = 0; i < a->T * a->Hq; i++) {
        ts_split_out out = ts_split_at(&all, i, a->parts, a->D);
        int64_t record = i * a->parts;
        ts_split_merge(a->parts, a->D, a->m + record, a->l + record, a->acc + record * a->D, &out);
    }
}
