/* Documents that are open, with what is known of each. */
#ifndef TILEC_LSP_DOCUMENTS_H
#define TILEC_LSP_DOCUMENTS_H
#include "lsp/analysis.h"

typedef struct Document {
    struct Document *next;
    Ctx *home; /* of what stays as long as the document: this, uri, path */
    Str uri;
    Str path; /* of a file: URI; else the URI itself */
    Ctx *ctx; /* of the text */
    Text text;
    int64_t version;
    Analysis *now;        /* of the text, unless `is_stale`; NULL: none yet */
    Analysis *parsed;     /* the last that had no error in its syntax, where that is not `now` */
    KernelAnalysis *good; /* the last of each kernel without an error, where that is not in `now` */
    bool is_stale;        /* `now` is of an earlier text */
    bool is_imported;     /* another one was analysed with its text */
    bool is_told;         /* the client has the diagnostics of `now` */
    double changed_ms;    /* when, of a steady clock */
} Document;

typedef struct Documents {
    Document *first;
} Documents;

Document *documents_find(const Documents *documents, Str uri);
/* The document of that file, also where the path is spelled otherwise; NULL: it is not open. */
Document *documents_of_path(const Documents *documents, Str path);
/* A document of that URI, which may be open already. False: there is no memory. */
bool documents_open(Documents *documents, Str uri, Str text, int64_t version, bool utf8);
void documents_close(Documents *documents, Document *document);
void documents_close_all(Documents *documents);

/* Puts `text` in the place of the bytes from `lo` to `hi`. False: there is no memory. */
bool document_replace(Document *document, uint32_t lo, uint32_t hi, Str text);
/* All documents are to be analysed anew: what they import, or the settings, changed. */
void documents_spoil(Documents *documents);
/* Takes what was made of the document's text; what is still of use of before is kept. */
void document_take(Document *document, Analysis *analysis);

/* Open documents for what reads sources; it points at the documents. */
SourceFiles documents_files(Documents *documents);

/* The path of a file: URI; false: it is none. */
bool uri_path(Arena *arena, Str uri, Str *path);
#endif
