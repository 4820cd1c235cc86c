/* touchstone profiles: docs/profiles.md, from the tables that the code runs by. */
#include <stdio.h>
#include <string.h>

#include "case/case.h"
#include "config/profile.h"
#include "options.h"
#include "tool.h"
#include "verify.h"

static void print_intro(void)
{
    fputs(
        "# Profiles\n"
        "\n"
        "Printed by `touchstone profiles`; a test says that this file is what it prints.\n"
        "\n"
        "A profile is one row of choices: for every place where engines differ, which named operation runs there\n"
        "(docs/contract.md defines each), and where values are rounded. `run`, `trace` and `layer` take one with\n"
        "`--profile`; `--with CHOICE=VALUE` changes one choice of it, which shows what that choice is worth. "
        "`ref32`\n"
        "runs all of them; `ref64 --profile P` is the same in double with P's roundings and codes (ref64p);\n"
        "`--engine fast` runs `exact` and `ts`. Results of different profiles are never compared as equals:\n"
        "`diff` refuses such traces unless it is told to go on.\n"
        "\n",
        stdout);
}

static void print_profiles(void)
{
    const ts_profile *p;
    puts("| profile | replays | but for |\n|---|---|---|");
    for (int i = 0; (p = ts_profile_at(i)) != NULL; i++)
        printf("| `%s` | %s | %s |\n", p->name, p->replays, *p->but ? p->but : "-");
}

static void print_choices(void)
{
    const ts_profile *p;
    const ts_choice *c;
    fputs("\n## Choices\n\n| choice | of |", stdout);
    for (int i = 0; (p = ts_profile_at(i)) != NULL; i++)
        printf(" `%s` |", p->name);
    fputs("\n|---|---|", stdout);
    for (int i = 0; ts_profile_at(i); i++)
        fputs("---|", stdout);
    for (int k = 0; (c = ts_choice_at(k)) != NULL; k++) {
        printf("\n| `%s` | %s |", c->name, c->about);
        for (int i = 0; (p = ts_profile_at(i)) != NULL; i++)
            printf(" %s |", c->value[ts_choice_get(p, c)].name);
    }
    puts("");
}

static void print_values(void)
{
    const ts_choice *c;
    puts("\n## Values\n\n| choice | value | means |\n|---|---|---|");
    for (int k = 0; (c = ts_choice_at(k)) != NULL; k++)
        for (int v = 0; v < TS_MAX_VALUES && c->value[v].name; v++)
            printf("| `%s` | `%s` | %s |\n", c->name, c->value[v].name, c->value[v].means);
}

/* One case that holds a profile against another engine's ids, with the forks that it records. */
static void print_peer(const ts_case *c)
{
    const char *about = ts_case_string(c, "about"), *forks = ts_case_expect(c, "forks");
    printf("\n`%s` (profile `%s`): %s.\n\n", c->name, ts_case_string(c, "profile"), about ? about : "");
    if (!forks || !*forks)
        puts("* every step as recorded");
    for (const char *line = forks; line && *line; line += strcspn(line, "\n") + 1)
        printf("* %.*s\n", (int)strcspn(line, "\n"), line);
}

static ts_status print_peers(const char *golden, ts_error *err)
{
    char folder[512];
    ts_case *cases = NULL;
    size_t n = 0;
    snprintf(folder, sizeof folder, "%s/own/cases/external", golden);
    ts_status s = ts_case_list(folder, &cases, &n, err);
    if (!s)
        fputs("\n## Held against other engines\n\n"
              "`touchstone check --op peer` leads ref32 along the ids that another engine gave. Where its own "
              "choice is\n"
              "another, that is a fork: its margin is the difference of the two logits. It is then evaluated again "
              "with\n"
              "one choice changed that is the same in real numbers and rounds elsewhere (the order of a sum, log(1 "
              "+ exp x)\n"
              "beside log1p, codes by a product beside a quotient): a negative number is a margin for the recorded "
              "id. A fork\n"
              "that is wider than what any of these changes moves it by is a failure; that one of them turns it is "
              "not asked.\n",
              stdout);
    for (size_t i = 0; i < n; i++) {
        const char *check = ts_case_string(&cases[i], "check");
        if (check && strcmp(check, "peer") == 0)
            print_peer(&cases[i]);
    }
    ts_case_list_free(cases, n);
    return s;
}

static cJSON *profile_json(const ts_profile *p)
{
    const ts_choice *c;
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "name", p->name);
    cJSON_AddStringToObject(o, "replays", p->replays);
    cJSON_AddStringToObject(o, "but", p->but);
    for (int k = 0; (c = ts_choice_at(k)) != NULL; k++)
        cJSON_AddStringToObject(o, c->name, c->value[ts_choice_get(p, c)].name);
    return o;
}

static int print_json(void)
{
    const ts_profile *p;
    cJSON *o = ts_tool_json(), *all = cJSON_AddArrayToObject(o, "profiles");
    for (int i = 0; (p = ts_profile_at(i)) != NULL; i++)
        cJSON_AddItemToArray(all, profile_json(p));
    return ts_tool_print(o, TS_OK);
}

int ts_cmd_profiles(int argc, char **argv)
{
    bool json = false;
    const char *golden = NULL;
    ts_error err = {0};
    const ts_option options[] = {
        {"golden", 'g', TS_OPT_TEXT, &golden, 0, 0, "DIR",
         "the golden folder ($TOUCHSTONE_GOLDEN, ./golden or the installed one)"},
        {"json", 0, TS_OPT_FLAG, &json, 0, 0, NULL, "every profile and its choices as a JSON object"},
    };
    ts_command_line c = {.usage = "profiles [OPTIONS]", .option = options, .n = 2};
    int done = ts_options_parse(argc, argv, &c);
    if (done != TS_GO_ON)
        return done;
    if (json)
        return print_json();
    print_intro();
    print_profiles();
    print_choices();
    print_values();
    ts_status s = print_peers(ts_golden_folder(golden), &err);
    return s ? ts_tool_fail(s, &err, false) : ts_tool_flush(false);
}
