/* One step of a model: some tokens in, the next one out, every operation a kernel. */
#ifndef EXAMPLES_LLM_STEPS_H
#define EXAMPLES_LLM_STEPS_H
#include "model.h"

/* How the next token is chosen. */
typedef struct Choice {
    bool greedy;
    double temperature;
    int64_t top_k; /* tokens that may come out */
    int64_t seed;
} Choice;

/* Takes the `rows` tokens from place `position` on, which lie in model->tokens, and puts the next
 * one behind them and its logits into model->logits. Nothing is waited for. */
void step(Gpu *gpu, const Model *model, int64_t position, int64_t rows, const Choice *choice);
#endif
