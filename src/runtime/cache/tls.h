/* TLS and signatures by OpenSSL, which is loaded when it is first needed: most hosts of libtilec
 * need neither, and have one of several versions or none. No header of it is needed to build.
 *
 * The protocol runs between memory and memory; who uses it moves the bytes. */
#ifndef TILEC_RUNTIME_CACHE_TLS_H
#define TILEC_RUNTIME_CACHE_TLS_H
#include <stdbool.h>
#include <stddef.h>

typedef struct TlsLibrary {
    void *ssl, *crypto; /* of dlopen */
#define TLS_FUNCTION(library, name, result, parameters) result(*name) parameters;
#include "runtime/cache/tls.def"
} TlsLibrary;

/* False: OpenSSL, or a function of it, is missing. It stays loaded: it does not take being unloaded
 * while other parts of a process use it. */
bool tls_load(TlsLibrary *library);

enum { TLS_MAC_SIZE = 32 };
/* HMAC-SHA256; false: it failed. */
bool tls_sign(const TlsLibrary *library, const char *key, const void *data, size_t size,
              unsigned char mac[TLS_MAC_SIZE]);

typedef struct Tls Tls;
typedef enum TlsResult { TLS_DONE, TLS_MORE, TLS_FAILED } TlsResult;

/* A client that believes certificates of `ca` (NULL: those of the system) for that host. NULL:
 * out of memory, or the file cannot be read. */
Tls *tls_new(const char *host, const char *ca, const char **trouble);
void tls_free(Tls *tls);
/* TLS_MORE: send the output, and come again with more input. */
TlsResult tls_handshake(Tls *tls);
/* Why it failed. */
const char *tls_trouble(const Tls *tls);
/* Bytes that came, and bytes to send; a count. */
bool tls_put_input(Tls *tls, const void *data, size_t size);
size_t tls_take_output(Tls *tls, void *data, size_t room);
bool tls_encrypt(Tls *tls, const void *data, size_t size);
TlsResult tls_decrypt(Tls *tls, void *data, size_t room, size_t *got);
#endif
