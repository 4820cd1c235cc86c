#include <string.h>

#include "synth/synth.h"

#define PREFIX "qwen3.5-"

/* The published shapes. 27b-layer: the widths of the 27B, one layer of each kind, the tiny vocabulary. */
static const ts_synth_shape shapes[] = {
    {.name = PREFIX "0.8b",
     .V = 248320,
     .C = 1024,
     .I = 3584,
     .layers = 24,
     .Hq = 8,
     .Hkv = 2,
     .D = 256,
     .R = 64,
     .Hk = 16,
     .Hv = 16,
     .Dk = 128,
     .Dv = 128,
     .W = 4,
     .interval = 4,
     .max_positions = 262144,
     .tied = true},
    {.name = PREFIX "4b",
     .V = 248320,
     .C = 2560,
     .I = 9216,
     .layers = 32,
     .Hq = 16,
     .Hkv = 4,
     .D = 256,
     .R = 64,
     .Hk = 16,
     .Hv = 32,
     .Dk = 128,
     .Dv = 128,
     .W = 4,
     .interval = 4,
     .max_positions = 262144,
     .tied = true},
    {.name = PREFIX "27b-layer",
     .V = 2048,
     .C = 5120,
     .I = 17408,
     .layers = 2,
     .Hq = 24,
     .Hkv = 4,
     .D = 256,
     .R = 64,
     .Hk = 16,
     .Hv = 48,
     .Dk = 128,
     .Dv = 128,
     .W = 4,
     .interval = 2,
     .max_positions = 262144},
    {.name = "tiny-qwen35",
     .V = 2048,
     .C = 256,
     .I = 512,
     .layers = 8,
     .Hq = 12,
     .Hkv = 2,
     .D = 64,
     .R = 16,
     .Hk = 2,
     .Hv = 6,
     .Dk = 128,
     .Dv = 128,
     .W = 4,
     .interval = 4,
     .max_positions = 32768},
};

const ts_synth_shape *ts_synth_shape_find(const char *name)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const char *full = shapes[i].name;
        bool prefixed = strncmp(full, PREFIX, strlen(PREFIX)) == 0;
        if (strcmp(full, name) == 0 || (prefixed && strcmp(full + strlen(PREFIX), name) == 0))
            return &shapes[i];
    }
    return NULL;
}

bool ts_synth_is_full(const ts_synth_shape *s, int64_t layer)
{
    return (layer + 1) % s->interval == 0;
}

void ts_synth_sections(const ts_synth_shape *s, int section[3])
{
    const int half = (int)s->R / 2;
    section[2] = half * 10 / 32;
    section[1] = (half - section[2]) / 2;
    section[0] = half - section[1] - section[2];
}
