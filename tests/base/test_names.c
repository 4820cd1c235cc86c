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

static void documented(void **state)
{
    (void)state;
    static const char *const change[] = {"same", "1 + w", "-exp(A_log)", "`[CD,W]`", "`[C]`"};
    static const char *const tile[] = {"", "rows ", "value rows ", "columns "};
    char *text, row[256];
    size_t size, rows = 0, i;
    assert_int_equal(ts_read_file("docs/formats.md", &text, &size, NULL), TS_OK);
    const ts_name *n;
    for (i = 0; (n = ts_name_at(i)) != NULL; i++) {
        snprintf(row, sizeof row, "| `%s%s` | `%s` | %s | %s|\n", n->place == TS_NAME_MTP ? "mtp." : "", n->hf,
                 n->gguf, change[n->change], tile[n->tile]);
        if (strstr(text, row) == NULL)
            fail_msg("not in docs/formats.md: %s", row);
    }
    for (const char *p = text; (p = strstr(p, "\n| `")) != NULL; p++)
        rows++;
    assert_int_equal(rows, i);
    free(text);
}

static void found(void **state)
{
    (void)state;
    const ts_name *n;
    for (size_t i = 0; (n = ts_name_at(i)) != NULL; i++) {
        char full[128];
        assert_ptr_equal(ts_name_find(n->place, n->hf), n);
        assert_ptr_equal(ts_name_of_gguf(n->place, n->gguf), n);
        snprintf(full, sizeof full, "%s.weight", n->gguf);
        assert_ptr_equal(ts_name_of_gguf(n->place, full), n);
        assert_null(ts_name_find(n->place, "mlp"));
    }
    assert_null(ts_name_of_gguf(TS_NAME_LAYER, "attn_q_norms"));
    assert_null(ts_name_find(TS_NAME_END, "mlp.up_proj"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(documented), cmocka_unit_test(found)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
