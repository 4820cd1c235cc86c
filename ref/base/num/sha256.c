#include "num/sha256.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIGEST = 32, CHUNK = 1 << 16 };

struct ts_sha256_ctx {
    EVP_MD_CTX *evp;
    int ok; /* every libcrypto call so far succeeded */
};

/* Without a digest (libcrypto out of memory) the text is empty: no wrong hash. */
static void write_hex(const unsigned char *digest, int ok, char hex[TS_SHA256_HEX])
{
    static const char digit[] = "0123456789abcdef";
    hex[0] = '\0';
    for (int i = 0; ok && i < DIGEST; i++) {
        hex[2 * i] = digit[digest[i] >> 4];
        hex[2 * i + 1] = digit[digest[i] & 15];
        hex[2 * i + 2] = '\0';
    }
}

void ts_sha256(const void *data, size_t size, char hex[TS_SHA256_HEX])
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    int ok = EVP_Digest(data, size, digest, NULL, EVP_sha256(), NULL) == 1;
    write_hex(digest, ok, hex);
}

ts_sha256_ctx *ts_sha256_new(void)
{
    ts_sha256_ctx *c = malloc(sizeof *c);
    if (!c)
        return NULL;
    c->evp = EVP_MD_CTX_new();
    c->ok = c->evp && EVP_DigestInit_ex(c->evp, EVP_sha256(), NULL) == 1;
    return c;
}

void ts_sha256_add(ts_sha256_ctx *c, const void *data, size_t size)
{
    c->ok = c->ok && EVP_DigestUpdate(c->evp, data, size) == 1;
}

void ts_sha256_end(ts_sha256_ctx *c, char hex[TS_SHA256_HEX])
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    int ok = c->ok && EVP_DigestFinal_ex(c->evp, digest, NULL) == 1;
    write_hex(digest, ok, hex);
    EVP_MD_CTX_free(c->evp);
    free(c);
}

/* Hashes the rest of f; the errno of the read that failed, or 0. */
static int hash_stream(FILE *f, ts_sha256_ctx *c)
{
    unsigned char buf[CHUNK];
    for (;;) {
        errno = 0;
        size_t n = fread(buf, 1, sizeof buf, f);
        ts_sha256_add(c, buf, n);
        if (ferror(f))
            return errno ? errno : EIO;
        if (n < sizeof buf)
            return 0;
    }
}

ts_status ts_sha256_file(const char *path, char hex[TS_SHA256_HEX], ts_error *err)
{
    hex[0] = '\0';
    FILE *f = fopen(path, "rb");
    if (!f)
        return ts_fail(err, TS_BAD, path, NULL, "cannot open: %s", strerror(errno));
    ts_sha256_ctx *c = ts_sha256_new();
    if (!c) {
        fclose(f);
        return ts_no_memory(err, sizeof *c);
    }
    int failed = hash_stream(f, c);
    fclose(f);
    ts_sha256_end(c, hex);
    if (failed) {
        hex[0] = '\0';
        return ts_fail(err, TS_BAD, path, NULL, "cannot read: %s", strerror(failed));
    }
    if (!hex[0])
        return ts_fail(err, TS_BAD, path, NULL, "libcrypto cannot compute sha256");
    return TS_OK;
}
