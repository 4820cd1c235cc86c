#include "config/draft.h"

int64_t ts_draft_joint(const ts_config *c)
{
    switch (c->draft) {
    case TS_DRAFT_MTP:
        return 2 * c->C;
    case TS_DRAFT_DFLASH:
        return c->dflash.taps * c->C;
    default:
        return 0;
    }
}

int64_t ts_draft_span(const ts_config *c, int64_t capacity)
{
    int64_t window = 0;
    for (int64_t i = 0; i < c->layers; i++) {
        if (c->draft != TS_DRAFT_DFLASH || c->dflash.window[i] == 0)
            return capacity;
        window = c->dflash.window[i] > window ? c->dflash.window[i] : window;
    }
    return window + c->dflash.block < capacity ? window + c->dflash.block : capacity;
}

int64_t ts_draft_first_seen(const ts_config *c, int64_t layer, int64_t n)
{
    const int64_t window = c->draft == TS_DRAFT_DFLASH ? c->dflash.window[layer] : 0;
    return window > 0 && n >= window ? n - window + 1 : 0;
}
