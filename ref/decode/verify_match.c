/* Sample-match verification: at each row the token that plain sampling draws there, with its number (purpose
 * SAMPLE);
 *
 *   s_j ~ p_j;  a = length of the longest prefix with d_i == s_{i-1};  final = s_a
 *
 * so the emitted ids are those of plain decoding with the same seed, whatever the drafts are. */
#include "draw.h"
#include "verify_parts.h"

/* Row j: what it draws is the final token unless it is draft j + 1, which is then kept. */
static ts_status judge(const ts_verify_input *in, int j, ts_round_verdict *out, ts_error *err)
{
    double u = 0.0;
    ts_status status = in->uniforms->draw(in->uniforms->ctx, in->n + (uint64_t)j + 1, TS_DRAW_SAMPLE, &u, err);
    if (status != TS_OK)
        return status;
    ts_drawn s = ts_draw(&in->p[j], u);
    out->final = s.id;
    out->final_u = u;
    ts_verify_slack(s.distance / in->p[j].total, out);
    if (j == in->k)
        return TS_OK;
    out->u[j] = u;
    out->p_d[j] = ts_probability(&in->p[j], in->draft[j]);
    out->tested++;
    out->a += s.id == in->draft[j];
    return TS_OK;
}

ts_status ts_verify_match(const ts_verify_input *in, ts_round_verdict *out, ts_error *err)
{
    ts_status status = ts_verify_begin(in, false, out, err);
    for (int j = 0; status == TS_OK && j <= in->k && j == out->a; j++)
        status = judge(in, j, out, err);
    if (status != TS_OK)
        return status;
    out->drawn = true;
    ts_verify_margin(in, out);
    return TS_OK;
}
