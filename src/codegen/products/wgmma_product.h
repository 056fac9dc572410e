/* Products by wgmma: operands, sums, and the instruction for them. */
#ifndef TILEC_CODEGEN_PRODUCTS_WGMMA_PRODUCT_H
#define TILEC_CODEGEN_PRODUCTS_WGMMA_PRODUCT_H
#include "codegen/cg.h"
#include "target/wgmma.h"

typedef struct WgmmaOperand {
    const Type *type; /* of the buffer or tile */
    bool in_registers;
    const Layout *offsets;
    Panels lies;
    int k; /* dimension of the buffer that is K */
} WgmmaOperand;

/* Of an op: one operand a, and for each operand b a sum. Of an instruction `k` is the depth;
 * `adjacent`: one takes all b. */
typedef struct WgmmaProduct {
    WgmmaOperand a, b[MAX_JOINT_PRODUCTS];
    const Type *acc[MAX_JOINT_PRODUCTS];
    uint32_t count;
    int64_t rows, depth, columns[MAX_JOINT_PRODUCTS], all_columns; /* of a warpgroup */
    int64_t k;
    bool adjacent;
} WgmmaProduct;

/* Of wgmma and wgmma_joint; false if the layouts or element types are none that wgmma takes. */
bool wgmma_product_of(Cg *cg, const Op *op, WgmmaProduct *out);
/* Columns of one instruction for operand b `index`. */
int64_t wgmma_columns_at_once(const WgmmaProduct *p, uint32_t index);
/* The shape and types of the instruction for operand b `index`, as PTX names them. */
void wgmma_put_name(StrBuf *text, const WgmmaProduct *p, uint32_t index);

/* For remarks. The instruction that computes a product of `op`. */
const char *cg_wgmma_name(Cg *cg, const Op *op, uint32_t product);
/* How an operand a or b lies in its buffer; false: it is in registers. */
bool cg_wgmma_operand(Cg *cg, const Op *op, uint32_t index, Panels *out);
#endif
