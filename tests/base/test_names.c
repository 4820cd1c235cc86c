/* docs/formats.md has the table of config/names.c, row for row, and each name leads back to its row. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "config/names.h"
#include "format/json.h"

static const ts_name_set sets[] = {TS_NAMES_QWEN35, TS_NAMES_NEXT, TS_NAMES_KIMI, TS_NAMES_DFLASH};

/* As the table has it. */
static const char *owners(const ts_name *n)
{
    static const char *const word[] = {"qwen35", "qwen3next", "kimi-linear", "dflash"};
    static char text[64];
    size_t at = 0;
    for (size_t i = 0; i < 4; i++)
        if (n->of & (int)sets[i])
            at += (size_t)snprintf(text + at, sizeof text - at, "%s%s", at ? ", " : "", word[i]);
    return at == strlen("qwen35, qwen3next, kimi-linear, dflash") ? "all" : text;
}

static void documented(void **state)
{
    (void)state;
    static const char *const change[] = {"same",  "1 + w",       "-exp(A_log)",   "`[CD,W]`",
                                         "`[C]`", "`[1,P,1,W]`", "`[Hq,rank,Dn]`"};
    static const char *const tile[] = {"", "rows ", "value rows ", "columns "};
    char *text, row[256];
    size_t size, rows = 0, i;
    assert_int_equal(ts_read_file("docs/formats.md", &text, &size, NULL), TS_OK);
    const ts_name *n;
    for (i = 0; (n = ts_name_at(i)) != NULL; i++) {
        snprintf(row, sizeof row, "| `%s%s` | `%s` | %s | %s| %s |\n", n->place == TS_NAME_MTP ? "mtp." : "", n->hf,
                 n->gguf, change[n->change], tile[n->tile], owners(n));
        if (strstr(text, row) == NULL)
            fail_msg("not in docs/formats.md: %s", row);
    }
    for (const char *p = text; (p = strstr(p, "\n| `")) != NULL; p++)
        rows++;
    assert_int_equal(rows, i);
    free(text);
}

/* In every set that has it; and no other row has either of its names there. */
static void found(void **state)
{
    (void)state;
    const ts_name *n;
    for (size_t i = 0; (n = ts_name_at(i)) != NULL; i++) {
        char full[128];
        snprintf(full, sizeof full, "%s.weight", n->gguf);
        for (size_t k = 0; k < sizeof sets / sizeof *sets; k++) {
            const bool has = (n->of & (int)sets[k]) != 0;
            assert_true((ts_name_find(sets[k], n->place, n->hf) == n) == has);
            assert_true((ts_name_of_gguf(sets[k], n->place, n->gguf) == n) == has);
            assert_true((ts_name_of_gguf(sets[k], n->place, full) == n) == has);
            assert_null(ts_name_find(sets[k], n->place, "mlp"));
        }
    }
    assert_null(ts_name_of_gguf(TS_NAMES_QWEN35, TS_NAME_LAYER, "attn_q_norms"));
    assert_null(ts_name_find(TS_NAMES_QWEN35, TS_NAME_END, "mlp.up_proj"));
    assert_null(ts_name_of_gguf(TS_NAMES_QWEN35, TS_NAME_LAYER, "ffn_norm"));
    assert_null(ts_name_of_gguf(TS_NAMES_KIMI, TS_NAME_LAYER, "post_attention_norm"));
}

/* Whole names in a file, of a set each. */
static void in_a_file(void **state)
{
    (void)state;
    static const struct {
        ts_name_set of;
        ts_name_place place;
        int layer;
        const char *hf, *gguf;
    } name[] = {
        {TS_NAMES_NEXT, TS_NAME_LAYER, 3, "linear_attn.in_proj_ba.weight", "blk.3.ssm_ba.weight"},
        {TS_NAMES_KIMI, TS_NAME_LAYER, 0, "post_attention_layernorm.weight", "blk.0.ffn_norm.weight"},
        {TS_NAMES_KIMI, TS_NAME_LAYER, 0, "self_attn.forget_gate.dt_bias", "blk.0.ssm_dt.bias"},
        {TS_NAMES_DFLASH, TS_NAME_END, -1, "hidden_norm.weight", "enc.output_norm.weight"},
        {TS_NAMES_DFLASH, TS_NAME_END, -1, "norm.weight", "output_norm.weight"},
        {TS_NAMES_DFLASH, TS_NAME_LAYER, 4, "mlp_conv.base_kernel", "blk.4.ffn_conv_base"},
        {TS_NAMES_DFLASH, TS_NAME_LAYER, 4, "mlp_conv.kernel_projection.weight", "blk.4.ffn_conv_proj.weight"},
        {TS_NAMES_DFLASH, TS_NAME_END, -1, "candidate_selector.successor_codebook", "selector_successor.weight"},
    };
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        char full[128];
        ts_name_gguf(name[i].of, name[i].place, name[i].layer, name[i].hf, full, sizeof full);
        assert_string_equal(full, name[i].gguf);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(documented), cmocka_unit_test(found),
                                       cmocka_unit_test(in_a_file)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
