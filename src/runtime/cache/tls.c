/* See tls.h. */
#include "runtime/cache/tls.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Of OpenSSL's headers. */
enum {
    VERIFY_PEER = 1,
    ERROR_WANT_READ = 2,
    ERROR_WANT_WRITE = 3,
    CTRL_SET_HOST_NAME = 55,
    HOST_NAME_TYPE = 0,
    LARGEST = 1 << 30,
};

struct Tls {
    TlsLibrary library;
    void *context, *session;
    void *input, *output; /* the session's */
};

static void *open_first(const char *const *names) {
    void *library = NULL;
    for (; *names && !library; names++)
        library = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
    return library;
}

bool tls_load(TlsLibrary *library) {
    static const char *const ssl[] = {"libssl.so.3", "libssl.so.1.1", NULL};
    static const char *const crypto[] = {"libcrypto.so.3", "libcrypto.so.1.1", NULL};
    library->ssl = open_first(ssl);
    library->crypto = open_first(crypto);
    bool ok = library->ssl && library->crypto;
#define TLS_FUNCTION(lib, name, result, parameters)                                                \
    ok = ok && (*(void **)&library->name = dlsym(library->lib, #name)) != NULL;
#include "runtime/cache/tls.def"
    return ok;
}

bool tls_sign(const TlsLibrary *library, const char *key, const void *data, size_t size,
              unsigned char mac[TLS_MAC_SIZE]) {
    unsigned length = 0;
    return library->HMAC(library->EVP_sha256(), key, (int)strlen(key), data, size, mac, &length) &&
           length == TLS_MAC_SIZE;
}

/* The name that the certificate must be for. */
static bool expect_host(Tls *tls, const char *host) {
    const TlsLibrary *o = &tls->library;
    unsigned char address[16];
    if (inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1)
        return o->X509_VERIFY_PARAM_set1_ip_asc(o->SSL_get0_param(tls->session), host) == 1;
    o->SSL_ctrl(tls->session, CTRL_SET_HOST_NAME, HOST_NAME_TYPE, (void *)(uintptr_t)host);
    return o->SSL_set1_host(tls->session, host) == 1;
}

static bool start_session(Tls *tls, const char *host) {
    const TlsLibrary *o = &tls->library;
    tls->session = o->SSL_new(tls->context);
    tls->input = o->BIO_new(o->BIO_s_mem());
    tls->output = o->BIO_new(o->BIO_s_mem());
    if (!tls->session || !tls->input || !tls->output || !expect_host(tls, host))
        return false;
    o->SSL_set_bio(tls->session, tls->input, tls->output);
    o->SSL_set_verify(tls->session, VERIFY_PEER, NULL);
    o->SSL_set_connect_state(tls->session);
    return true;
}

Tls *tls_new(const char *host, const char *ca, const char **trouble) {
    Tls *tls = calloc(1, sizeof *tls);
    *trouble = "out of memory";
    if (!tls)
        return NULL;
    const TlsLibrary *o = &tls->library;
    if (!tls_load(&tls->library)) {
        *trouble = "OpenSSL was not found";
        free(tls);
        return NULL;
    }
    tls->context = o->SSL_CTX_new(o->TLS_client_method());
    bool ok = tls->context != NULL;
    if (ok && !(ca ? o->SSL_CTX_load_verify_locations(tls->context, ca, NULL)
                   : o->SSL_CTX_set_default_verify_paths(tls->context))) {
        *trouble = "the certificates cannot be read";
        ok = false;
    }
    if (ok && start_session(tls, host))
        return tls;
    o->ERR_clear_error();
    tls_free(tls);
    return NULL;
}

void tls_free(Tls *tls) {
    if (!tls)
        return;
    if (tls->session)
        tls->library.SSL_free(tls->session); /* and what it reads and writes */
    if (tls->context)
        tls->library.SSL_CTX_free(tls->context);
    free(tls);
}

static TlsResult result_of(Tls *tls, int code) {
    if (code > 0)
        return TLS_DONE;
    const int error = tls->library.SSL_get_error(tls->session, code);
    tls->library.ERR_clear_error(); /* the queue is the thread's, and the host's as well */
    return error == ERROR_WANT_READ || error == ERROR_WANT_WRITE ? TLS_MORE : TLS_FAILED;
}

TlsResult tls_handshake(Tls *tls) {
    return result_of(tls, tls->library.SSL_do_handshake(tls->session));
}

const char *tls_trouble(const Tls *tls) {
    const long verified = tls->library.SSL_get_verify_result(tls->session);
    return verified ? tls->library.X509_verify_cert_error_string(verified) : "TLS failed";
}

bool tls_put_input(Tls *tls, const void *data, size_t size) {
    return tls->library.BIO_write(tls->input, data, (int)size) == (int)size;
}

size_t tls_take_output(Tls *tls, void *data, size_t room) {
    const int got = tls->library.BIO_read(tls->output, data, (int)room);
    return got > 0 ? (size_t)got : 0;
}

bool tls_encrypt(Tls *tls, const void *data, size_t size) {
    const char *at = data;
    while (size) {
        const int part = size < LARGEST ? (int)size : LARGEST;
        if (result_of(tls, tls->library.SSL_write(tls->session, at, part)) != TLS_DONE)
            return false;
        at += part;
        size -= (size_t)part;
    }
    return true;
}

TlsResult tls_decrypt(Tls *tls, void *data, size_t room, size_t *got) {
    const int read = tls->library.SSL_read(tls->session, data, (int)room);
    *got = read > 0 ? (size_t)read : 0;
    return result_of(tls, read);
}
