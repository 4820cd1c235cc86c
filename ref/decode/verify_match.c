/* Sample-match verification: at each row the token that plain sampling draws there, with its number (purpose
 * SAMPLE);
 *
 *   s_j ~ p_j;  a = length of the longest prefix with d_i == s_{i-1};  final = s_a
 *
 * so the emitted ids are those of plain decoding with the same seed, whatever the drafts are. */
#include "draw.h"
#include "verify_parts.h"

/* The number that row j draws with. */
static ts_status number(const ts_verify_input *in, int j, double *u, ts_error *err)
{
    return in->uniforms->draw(in->uniforms->ctx, in->n + (uint64_t)j + 1, TS_DRAW_SAMPLE, u, err);
}

ts_status ts_verify_match(const ts_verify_input *in, ts_round_verdict *out, ts_error *err)
{
    bool kept = true;
    ts_status status = ts_verify_begin(in, false, out, err);
    for (int j = 0; status == TS_OK && kept; j++) {
        status = number(in, j, &out->final_u, err);
        ts_drawn s = ts_draw(&in->p[j], out->final_u);
        out->final = s.id;
        ts_verify_slack(s.distance / in->p[j].total, out);
        if (j < in->k) {
            out->u[j] = out->final_u;
            out->p_d[j] = ts_probability(&in->p[j], in->draft[j]);
            out->tested++;
        }
        kept = j < in->k && s.id == in->draft[j];
        out->a += kept;
    }
    out->drawn = true;
    ts_verify_margin(in, out);
    return status;
}
