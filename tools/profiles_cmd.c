/* touchstone profiles: docs/profiles.md, from the tables that the code runs by. */
#include <stdio.h>
#include <string.h>

#include "config/profile.h"
#include "options.h"
#include "tool.h"

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
    const ts_option options[] = {
        {"json", 0, TS_OPT_FLAG, &json, 0, 0, NULL, "every profile and its choices as a JSON object"},
    };
    ts_command_line c = {.usage = "profiles [OPTIONS]", .option = options, .n = 1};
    int done = ts_options_parse(argc, argv, &c);
    if (done != TS_GO_ON)
        return done;
    if (json)
        return print_json();
    print_intro();
    print_profiles();
    print_choices();
    print_values();
    return ts_tool_flush(false);
}
