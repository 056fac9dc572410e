/* Every result rule refuses what ops.def does not allow, and says so with the right message. */
#include "ir_testing.h"

static const char prelude[] =
    "func @f(%p: ptr<f32>, %q: ptr<i32>, %b: ptr<i8>, %n: i32, %l: i64, %x: f32, %c: i1, %y: i8) "
    "{\n"
    "    %ti = range {start = 0} : tile<8xi32>\n"
    "    %tl = extsi %ti : tile<8xi64>\n"
    "    %tf = splat %x : tile<8xf32>\n"
    "    %th = truncf %tf : tile<8xf16>\n"
    "    %tb = truncf %tf : tile<8xbf16>\n"
    "    %td = extf %tf : tile<8xf64>\n"
    "    %tp = splat %p : tile<8xptr<f32>>\n"
    "    %tc = splat %c : tile<8xi1>\n"
    "    %uf = splat %x : tile<16xf32>\n"
    "    %ui = splat %n : tile<16xi32>\n"
    "    %uc = splat %c : tile<16xi1>\n"
    "    %mf = splat %x : tile<8x8xf32>\n"
    "    %mi = splat %n : tile<8x8xi32>\n"
    "    %mh = truncf %mf : tile<8x8xf16>\n"
    "    %mc = splat %c : tile<8x8xi1>\n"
    "    %wf = splat %x : tile<4x8xf32>\n"
    "    %b3 = splat %x : tile<2x8x8xf32>\n"
    "    %c3 = splat %x : tile<4x8x8xf32>\n"
    "    %deep = splat %x : tile<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1xf32>\n"
    "    %big = splat %x : tile<1024x1024xf32>\n"
    "    %af = splat %x : tile<8xf32, {reg = [1, 2, 4]}>\n"
    "    %bf = splat %x : tile<8xf32, {reg = [4, 2, 1]}>\n"
    "    %ap = splat %p : tile<8xptr<f32>, {reg = [1, 2, 4]}>\n"
    "    %amf = splat %x : tile<8x8xf32, {reg = [1, 2, 4, 8, 16, 32]}>\n"
    "    %a2 = splat %x : tile<8x2xf32, {reg = [2, 1, 4, 8]}>\n"
    "    %a1 = splat %x : tile<8x1xf32, {reg = [4, 2, 1]}>\n"
    "    %sb = local_alloc {offset = -1} : buffer<8xf32, {reg = [1, 2, 4]}>\n"
    "    %mb = mbarrier_alloc {offset = -1, copies = 2} : buffer<1xi64, {}>\n"
    "    %eb = mbarrier_alloc {offset = -1, arrivals = 2} : buffer<1xi64, {}>\n"
    "    %one = constant_int {value = 1} : i32\n";

/* `code` is the op that is wrong in `body`. */
typedef struct BadOp {
    OpCode code;
    const char *body;
    DiagId id;
} BadOp;

#define COMBINE_F32(a, b) " (%u: " a ", %v: " b ") {\nyield %u\n}"

static const BadOp bad_ops[] = {
    {OP_constant_int, "%r = constant_int {value = 1} : f32", DIAG_ir_result_type},
    {OP_constant_int, "%r = constant_int {value = 1} : ptr<i32>", DIAG_ir_result_type},
    {OP_constant_float, "%r = constant_float {value = 1} : i32", DIAG_ir_result_type},
    {OP_program_id, "%r = program_id {axis = 3} : i32", DIAG_ir_attribute},
    {OP_num_programs, "%r = num_programs {axis = -1} : i32", DIAG_ir_attribute},
    {OP_cta_id, "%r = cta_id : i32", DIAG_ir_place},
    {OP_team_id, "%r = team_id : i32", DIAG_ir_place},
    {OP_cta_count, "%r = cta_count : i32", DIAG_ir_place},
    {OP_range, "%r = range {start = 0} : i32", DIAG_ir_result_type},
    {OP_range, "%r = range {start = 0} : tile<8xi64>", DIAG_ir_result_type},
    {OP_range, "%r = range {start = 0} : tile<8x8xi32>", DIAG_ir_result_type},
    {OP_range, "%r = range {start = 2147483641} : tile<8xi32>", DIAG_ir_attribute},
    {OP_splat, "%r = splat %ti : tile<8xi32>", DIAG_ir_operand_type},
    {OP_splat, "%r = splat %n : i32", DIAG_ir_result_from},
    {OP_splat, "%r = splat %n : tile<8xi64>", DIAG_ir_result_from},
    {OP_splat, "%r = splat %p : tile<8xf32>", DIAG_ir_result_from},
    {OP_expand_dims, "%r = expand_dims %n {axis = 0} : tile<1xi32>", DIAG_ir_operand_type},
    {OP_expand_dims, "%r = expand_dims %ti {axis = 2} : tile<8x1xi32>", DIAG_ir_attribute},
    {OP_expand_dims, "%r = expand_dims %ti {axis = -1} : tile<8x1xi32>", DIAG_ir_attribute},
    {OP_expand_dims, "%r = expand_dims %deep {axis = 0} : f32", DIAG_ir_operand_type},
    {OP_expand_dims, "%r = expand_dims %ti {axis = 0} : tile<8x1xi32>", DIAG_ir_result_type},
    {OP_broadcast, "%r = broadcast %n : tile<8xi32>", DIAG_ir_operand_type},
    {OP_broadcast, "%r = broadcast %ti : tile<16xi32>", DIAG_ir_result_from},
    {OP_broadcast, "%r = broadcast %ti : tile<8x8xi32>", DIAG_ir_result_from},
    {OP_broadcast, "%r = broadcast %ti : tile<8xi64>", DIAG_ir_result_from},
    {OP_broadcast, "%r = broadcast %a1 : tile<8x2xf32>", DIAG_ir_result_from},
    {OP_broadcast, "%r = broadcast %a1 : tile<8x2xf32, {reg = [1, 2, 4, 8]}>", DIAG_ir_result_from},
    {OP_reshape, "%r = reshape %n : tile<1xi32>", DIAG_ir_operand_type},
    {OP_reshape, "%r = reshape %ti : tile<16xi32>", DIAG_ir_result_from},
    {OP_reshape, "%r = reshape %ti : tile<2x4xi64>", DIAG_ir_result_from},
    {OP_reshape, "%r = reshape %af : tile<2x4xf32, {reg = [4, 2, 1]}>", DIAG_ir_result_from},
    {OP_transpose, "%r = transpose %n {order = [0]} : i32", DIAG_ir_operand_type},
    {OP_transpose, "%r = transpose %mf {order = [0]} : tile<8x8xf32>", DIAG_ir_attribute},
    {OP_transpose, "%r = transpose %mf {order = [0, 0]} : tile<8x8xf32>", DIAG_ir_attribute},
    {OP_transpose, "%r = transpose %mf {order = [0, 2]} : tile<8x8xf32>", DIAG_ir_attribute},
    {OP_transpose, "%r = transpose %mf {order = [-1, 0]} : tile<8x8xf32>", DIAG_ir_attribute},
    {OP_transpose, "%r = transpose %wf {order = [1, 0]} : tile<4x8xf32>", DIAG_ir_result_type},
    {OP_join, "%r = join %n, %n : tile<2xi32>", DIAG_ir_operand_type},
    {OP_join, "%r = join %ti, %tf : tile<8x2xi32>", DIAG_ir_operand_pair},
    {OP_join, "%r = join %af, %bf : tile<8x2xf32>", DIAG_ir_operand_pair},
    {OP_join, "%r = join %big, %big : tile<1024x1024xf32>", DIAG_ir_operand_type},
    {OP_join, "%r = join %deep, %deep : f32", DIAG_ir_operand_type},
    {OP_split, "%r, %s = split %ti : i32, i32", DIAG_ir_operand_type},
    {OP_split, "%r, %s = split %n : i32, i32", DIAG_ir_operand_type},
    {OP_split, "%r = split %a2 : tile<8xf32>", DIAG_ir_result_count},
    {OP_split, "%r, %s = split %a2 : f32, f32", DIAG_ir_result_from},
    {OP_split, "%r, %s = split %a2 : tile<8xf32>, tile<8xf32>", DIAG_ir_result_from},
    {OP_split,
     "%r, %s = split %a2 : tile<8xf32, {reg = [1, 2, 4]}>, tile<8xf32, {reg = [1, 2, 4]}>",
     DIAG_ir_result_from},
    {OP_slice, "%r = slice %n {at = 0} : i32", DIAG_ir_operand_type},
    {OP_slice, "%r = slice %tf {at = 2} : tile<4xf32>", DIAG_ir_result_from},
    {OP_slice, "%r = slice %tf {at = -4} : tile<4xf32>", DIAG_ir_result_from},
    {OP_slice, "%r = slice %tf {at = 0} : tile<4xi32>", DIAG_ir_result_from},
    {OP_addi, "%r = addi %x, %x : f32", DIAG_ir_operand_type},
    {OP_addi, "%r = addi %n, %l : i32", DIAG_ir_operand_pair},
    {OP_addi, "%r = addi %n, %ti : i32", DIAG_ir_operand_pair},
    {OP_addi, "%r = addi %p, %p : ptr<f32>", DIAG_ir_operand_type},
    {OP_absi, "%r = absi %tf : tile<8xf32>", DIAG_ir_operand_type},
    {OP_addf, "%r = addf %n, %n : i32", DIAG_ir_operand_type},
    {OP_addf, "%r = addf %tf, %uf : tile<8xf32>", DIAG_ir_operand_pair},
    {OP_addf, "%r = addf %af, %bf : tile<8xf32, {reg = [1, 2, 4]}>", DIAG_ir_operand_pair},
    {OP_fma, "%r = fma %x, %x, %tf : f32", DIAG_ir_operand_pair},
    {OP_cmpi, "%r = cmpi %x, %x {pred = eq} : i1", DIAG_ir_operand_type},
    {OP_cmpi, "%r = cmpi %p, %q {pred = eq} : i1", DIAG_ir_operand_pair},
    {OP_cmpi, "%r = cmpi %ti, %ti {pred = eq} : i1", DIAG_ir_result_type},
    {OP_cmpf, "%r = cmpf %n, %n {pred = oeq} : i1", DIAG_ir_operand_type},
    {OP_cmpf, "%r = cmpf %tf, %th {pred = oeq} : tile<8xi1>", DIAG_ir_operand_pair},
    {OP_select, "%r = select %n, %x, %x : f32", DIAG_ir_operand_type},
    {OP_select, "%r = select %c, %x, %n : f32", DIAG_ir_operand_pair},
    {OP_select, "%r = select %uc, %tf, %tf : tile<8xf32>", DIAG_ir_operand_pair},
    {OP_select, "%r = select %tc, %x, %x : f32", DIAG_ir_operand_pair},
    {OP_select, "%r = select %c, %sb, %sb : buffer<8xf32, {reg = [1, 2, 4]}>",
     DIAG_ir_operand_type},
    {OP_trunci, "%r = trunci %x : i16", DIAG_ir_operand_type},
    {OP_trunci, "%r = trunci %n : i32", DIAG_ir_result_from},
    {OP_trunci, "%r = trunci %ti : i16", DIAG_ir_result_from},
    {OP_extsi, "%r = extsi %x : i64", DIAG_ir_operand_type},
    {OP_extsi, "%r = extsi %n : i16", DIAG_ir_result_from},
    {OP_extui, "%r = extui %n : f64", DIAG_ir_result_from},
    {OP_truncf, "%r = truncf %n : f16", DIAG_ir_operand_type},
    {OP_truncf, "%r = truncf %x : f32", DIAG_ir_result_from},
    {OP_truncf, "%r = truncf %x : f64", DIAG_ir_result_from},
    {OP_truncf, "%r = truncf %tf : tile<16xf16>", DIAG_ir_result_from},
    {OP_extf, "%r = extf %n : f64", DIAG_ir_operand_type},
    {OP_extf, "%r = extf %th : tile<8xbf16>", DIAG_ir_result_from},
    {OP_extf, "%r = extf %x : f16", DIAG_ir_result_from},
    {OP_ftosi, "%r = ftosi %n : i32", DIAG_ir_operand_type},
    {OP_ftosi, "%r = ftosi %x : f64", DIAG_ir_result_from},
    {OP_ftoui, "%r = ftoui %tf : tile<16xi32>", DIAG_ir_result_from},
    {OP_sitof, "%r = sitof %x : f32", DIAG_ir_operand_type},
    {OP_sitof, "%r = sitof %n : i64", DIAG_ir_result_from},
    {OP_uitof, "%r = uitof %ti : f32", DIAG_ir_result_from},
    {OP_bitcast, "%r = bitcast %x : i64", DIAG_ir_result_from},
    {OP_inline_asm,
     "%r = inline_asm %x {asm_text = \"\", constraints = \"=r,f\", results = \"i32\", pack = 0} : "
     "i32",
     DIAG_ir_attribute},
    {OP_bitcast, "%r = bitcast %l : ptr<f32>", DIAG_ir_result_from},
    {OP_bitcast, "%r = bitcast %sb : tile<8xf32>", DIAG_ir_operand_type},
    {OP_ptrtoint, "%r = ptrtoint %l : i64", DIAG_ir_operand_type},
    {OP_ptrtoint, "%r = ptrtoint %p : i32", DIAG_ir_result_from},
    {OP_inttoptr, "%r = inttoptr %n : ptr<f32>", DIAG_ir_operand_type},
    {OP_inttoptr, "%r = inttoptr %l : i64", DIAG_ir_result_from},
    {OP_addptr, "%r = addptr %n, %n : i32", DIAG_ir_operand_type},
    {OP_addptr, "%r = addptr %p, %x : ptr<f32>", DIAG_ir_operand_type},
    {OP_addptr, "%r = addptr %p, %y : ptr<f32>", DIAG_ir_operand_type},
    {OP_addptr, "%r = addptr %p, %ti : ptr<f32>", DIAG_ir_operand_pair},
    {OP_optimization_barrier, "%r = optimization_barrier %p : ptr<f32>", DIAG_ir_operand_type},
    {OP_optimization_barrier, "%r = optimization_barrier %l : i64", DIAG_ir_operand_type},
    {OP_optimization_barrier, "%r = optimization_barrier %c : i1", DIAG_ir_operand_type},
    {OP_hint_divisible, "%r = hint_divisible %x {values = [1]} : f32", DIAG_ir_operand_type},
    {OP_hint_contiguous, "%r = hint_contiguous %mi {values = [1]} : tile<8x8xi32>",
     DIAG_ir_attribute},
    {OP_hint_constant, "%r = hint_constant %ti {values = [0]} : tile<8xi32>", DIAG_ir_attribute},
    {OP_assume, "assume %tc", DIAG_ir_operand_type},
    {OP_load, "%r = load %n : i32", DIAG_ir_operand_type},
    {OP_load, "%r = load %tp, %ti : tile<8xf32>", DIAG_ir_operand_type},
    {OP_load, "%r = load %tp, %c : tile<8xf32>", DIAG_ir_operand_pair},
    {OP_load, "%r = load %tp, %uc : tile<8xf32>", DIAG_ir_operand_pair},
    {OP_load, "%r = load %tp, %tc, %x : tile<8xf32>", DIAG_ir_operand_pair},
    {OP_load, "%r = load %tp, %tc, %ti : tile<8xf32>", DIAG_ir_operand_pair},
    {OP_load, "%r = load %tp : tile<8xi32>", DIAG_ir_result_type},
    {OP_load, "%r = load %ap {width = 3} : tile<8xf32, {reg = [1, 2, 4]}>", DIAG_ir_attribute},
    {OP_load, "%r = load %ap {width = 8} : tile<8xf32, {reg = [1, 2, 4]}>", DIAG_ir_attribute},
    {OP_load, "%r = load %ap {width = -4} : tile<8xf32, {reg = [1, 2, 4]}>", DIAG_ir_attribute},
    {OP_load, "%r = load %tp {width = 4} : tile<8xf32>", DIAG_ir_attribute},
    {OP_store, "store %n, %n", DIAG_ir_operand_type},
    {OP_store, "store %p, %n", DIAG_ir_operand_pair},
    {OP_store, "store %tp, %x", DIAG_ir_operand_pair},
    {OP_store, "store %tp, %tf, %uc", DIAG_ir_operand_pair},
    {OP_store, "store %tp, %tf, %ti", DIAG_ir_operand_type},
    {OP_store, "store %ap, %af {width = 16}", DIAG_ir_attribute},
    {OP_atomic_rmw, "%r = atomic_rmw %n, %n {kind = add} : i32", DIAG_ir_operand_type},
    {OP_atomic_rmw, "%r = atomic_rmw %q, %x {kind = add} : i32", DIAG_ir_operand_pair},
    {OP_atomic_rmw, "%r = atomic_rmw %p, %x {kind = add} : f32", DIAG_ir_operand_type},
    {OP_atomic_rmw, "%r = atomic_rmw %q, %n {kind = fadd} : i32", DIAG_ir_operand_type},
    {OP_atomic_rmw, "%r = atomic_rmw %b, %y {kind = xchg} : i8", DIAG_ir_operand_type},
    {OP_atomic_rmw, "%r = atomic_rmw %q, %n, %n {kind = add} : i32", DIAG_ir_operand_type},
    {OP_atomic_cas, "%r = atomic_cas %n, %n, %n : i32", DIAG_ir_operand_type},
    {OP_atomic_cas, "%r = atomic_cas %b, %y, %y : i8", DIAG_ir_operand_type},
    {OP_atomic_cas, "%r = atomic_cas %q, %n, %x : i32", DIAG_ir_operand_pair},
    {OP_reduce, "%r = reduce %x {axis = 0} : f32" COMBINE_F32("f32", "f32"), DIAG_ir_operand_type},
    {OP_reduce, "%r = reduce %tf {axis = 1} : f32" COMBINE_F32("f32", "f32"), DIAG_ir_attribute},
    {OP_reduce, "%r = reduce %tf {axis = 0, keep = 8} : tile<2xf32>" COMBINE_F32("f32", "f32"),
     DIAG_ir_attribute},
    {OP_reduce, "%r = reduce %tf {axis = 0} : tile<1xf32>" COMBINE_F32("f32", "f32"),
     DIAG_ir_result_type},
    {OP_reduce, "%r = reduce %tf {axis = 0, keep = 5} : f32" COMBINE_F32("f32", "f32"),
     DIAG_ir_result_type},
    {OP_reduce, "%r = reduce %tf {axis = 0} : f32" COMBINE_F32("f32", "i32"), DIAG_ir_region_args},
    {OP_reduce, "reduce {axis = 0} {\nyield\n}", DIAG_ir_operand_count},
    {OP_reduce, "%r, %s = reduce %tf, %ui {axis = 0} : f32, i32" COMBINE_F32("f32", "f32"),
     DIAG_ir_passed_on},
    {OP_undef, "%r = undef : buffer<8xf32, {reg = [1, 2, 4]}>", DIAG_ir_result_type},
    {OP_map, "%r = map %x : f32 (%a: f32) {\nyield %a\n}", DIAG_ir_operand_type},
    {OP_map, "%r = map %tf : tile<4xf32> (%a: f32) {\nyield %a\n}", DIAG_ir_result_from},
    {OP_map, "%r = map %tf : tile<8xi32> (%a: i32) {\nyield %a\n}", DIAG_ir_region_args},
    {OP_map, "%r = map %tf : tile<8xi32> (%a: f32) {\nyield %a\n}", DIAG_ir_passed_on},
    {OP_scan, "%r = scan %x {axis = 0} : f32" COMBINE_F32("f32", "f32"), DIAG_ir_operand_type},
    {OP_scan, "%r = scan %tf {axis = 0} : tile<8xi32>" COMBINE_F32("f32", "f32"),
     DIAG_ir_passed_on},
    {OP_scan, "%r = scan %tf {axis = -1} : tile<8xf32>" COMBINE_F32("f32", "f32"),
     DIAG_ir_attribute},
    {OP_load_block, "%r = load_block {checked = 0} : tile<8xf32>", DIAG_ir_operand_count},
    {OP_load_block, "%r = load_block %p, %l, %l {checked = 0} : tile<8xf32>",
     DIAG_ir_operand_count},
    {OP_load_block, "%r = load_block %tp, %l, %l, %l {checked = 0} : tile<8xf32>",
     DIAG_ir_operand_type},
    {OP_load_block, "%r = load_block %p, %l, %l, %l {checked = 0} : tile<8xi32>",
     DIAG_ir_result_from},
    {OP_load_block, "%r = load_block %p, %l, %l, %l {checked = 0} : f32", DIAG_ir_result_from},
    {OP_load_block, "%r = load_block %p, %n, %l, %l {checked = 0} : tile<8xf32>",
     DIAG_ir_operand_type},
    {OP_load_block, "%r = load_block %p, %l, %n, %l {checked = 0} : tile<8xf32>",
     DIAG_ir_operand_type},
    {OP_load_block, "%r = load_block %p, %l, %l, %x {checked = 0} : tile<8xf32>",
     DIAG_ir_operand_type},
    {OP_load_block, "%r = load_block %p, %l, %l, %l, %l, %n, %l {checked = 0} : tile<8x8xf32>",
     DIAG_ir_operand_pair},
    {OP_load_block, "%r = load_block %p, %l, %l, %l, %n {checked = 0} : tile<8xf32>",
     DIAG_ir_operand_type},
    {OP_cache_policy, "%r = cache_policy %n : i64", DIAG_ir_operand_type},
    {OP_load_block, "%r = load_block %p, %l, %l, %l {checked = 2} : tile<8xf32>",
     DIAG_ir_attribute},
    {OP_load_block, "%r = load_block %q, %l, %l, %l {checked = 1, padding = nan} : tile<8xi32>",
     DIAG_ir_attribute},
    {OP_store_block, "store_block %p {checked = 0}", DIAG_ir_operand_count},
    {OP_store_block, "store_block %p, %ti, %l, %l, %l {checked = 0}", DIAG_ir_operand_type},
    {OP_store_block, "store_block %p, %x {checked = 0}", DIAG_ir_operand_type},
    {OP_store_block, "store_block %p, %mf, %l, %l, %l {checked = 0}", DIAG_ir_operand_count},
    {OP_store_block, "store_block %p, %tf, %l, %l, %l {checked = -1}", DIAG_ir_attribute},
    {OP_atomic_block, "atomic_block %p, %tf, %l, %l, %l {checked = 0, kind = add}",
     DIAG_ir_operand_type},
    {OP_atomic_block, "atomic_block %p, %tf, %l, %l, %l {checked = 0, kind = xchg}",
     DIAG_ir_attribute},
    {OP_gather, "%r = gather %x, %ti {axis = 0} : tile<8xf32>", DIAG_ir_operand_type},
    {OP_gather, "%r = gather %tf, %ti {axis = 1} : tile<8xf32>", DIAG_ir_attribute},
    {OP_gather, "%r = gather %tf, %ti {axis = -1} : tile<8xf32>", DIAG_ir_attribute},
    {OP_gather, "%r = gather %tf, %tf {axis = 0} : tile<8xf32>", DIAG_ir_operand_pair},
    {OP_gather, "%r = gather %mf, %ti {axis = 0} : tile<8xf32>", DIAG_ir_operand_pair},
    {OP_gather, "%r = gather %tf, %ti {axis = 0} : tile<8xi32>", DIAG_ir_result_type},
    {OP_local_gather, "%r = local_gather %tf, %ti {axis = 0} : tile<8xf32>", DIAG_ir_operand_type},
    {OP_local_gather, "%r = local_gather %sb, %ti {axis = 1} : tile<8xf32>", DIAG_ir_attribute},
    {OP_local_gather, "%r = local_gather %sb, %mf {axis = 0} : tile<8xf32>", DIAG_ir_operand_pair},
    {OP_histogram, "%r = histogram %tf : tile<8xi32>", DIAG_ir_operand_type},
    {OP_histogram, "%r = histogram %mf : tile<8xi32>", DIAG_ir_operand_type},
    {OP_histogram, "%r = histogram %ti : tile<8xi64>", DIAG_ir_result_from},
    {OP_histogram, "%r = histogram %ti : tile<2x4xi32>", DIAG_ir_result_from},
    {OP_local_count, "local_count %tf, %sb", DIAG_ir_operand_type},
    {OP_local_count, "local_count %ti, %ti", DIAG_ir_operand_type},
    {OP_local_count, "local_count %ti, %sb", DIAG_ir_operand_type},
    {OP_dot, "%r = dot %x, %mf, %mf : tile<8x8xf32>", DIAG_ir_operand_type},
    {OP_dot, "%r = dot %mf, %wf, %mf : tile<8x8xf32>", DIAG_ir_operand_pair},
    {OP_dot, "%r = dot %wf, %mf, %mf : tile<8x8xf32>", DIAG_ir_operand_pair},
    {OP_dot, "%r = dot %mf, %mh, %mf : tile<8x8xf32>", DIAG_ir_operand_pair},
    {OP_dot, "%r = dot %mf, %mf, %mh : tile<8x8xf16>", DIAG_ir_operand_pair},
    {OP_dot, "%r = dot %mi, %mi, %mi : tile<8x8xi32>", DIAG_ir_operand_pair},
    {OP_dot, "%r = dot %mf, %mf, %amf : tile<8x8xf32>", DIAG_ir_operand_pair},
    {OP_dot, "%r = dot %b3, %b3, %c3 : tile<4x8x8xf32>", DIAG_ir_operand_pair},
    {OP_dot, "%r = dot %mf, %mf, %mf {max_imprecise = -1} : tile<8x8xf32>", DIAG_ir_attribute},
    {OP_for, "for %n, %n (%i: i32) {\nyield\n}", DIAG_ir_operand_count},
    {OP_for, "for %x, %x, %x (%i: f32) {\nyield\n}", DIAG_ir_operand_type},
    {OP_for, "for %n, %l, %n (%i: i32) {\nyield\n}", DIAG_ir_operand_pair},
    {OP_for, "for %n, %n, %n {\nyield\n}", DIAG_ir_region_args},
    {OP_for, "for %n, %n, %n (%i: i64) {\nyield\n}", DIAG_ir_region_args},
    {OP_for, "for %n, %n, %n, %x (%i: i32, %a: f32) {\nyield\n}", DIAG_ir_result_count},
    {OP_for, "%r = for %n, %n, %n, %x : i32 (%i: i32, %a: i32) {\nyield %a\n}",
     DIAG_ir_result_type},
    {OP_for, "for %n, %n, %n {num_stages = -1} (%i: i32) {\nyield\n}", DIAG_ir_attribute},
    {OP_for, "for %n, %n, %n {flags = 256} (%i: i32) {\nyield\n}", DIAG_ir_attribute},
    {OP_for, "%r = for %n, %n, %n, %sb : i32 (%i: i32, %a: i32) {\nyield %a\n}",
     DIAG_ir_operand_type},
    {OP_while, "while %n {\ncondition %c\n} {\nyield\n}", DIAG_ir_result_count},
    {OP_while, "while {\ncondition %c\n} (%a: i32) {\nyield\n}", DIAG_ir_region_args},
    {OP_while, "%r = while %sb : i32 {\ncondition %c, %n\n} {\nyield %n\n}", DIAG_ir_operand_type},
    {OP_while, "while {flags = 1} {\ncondition %c\n} {\nyield\n}", DIAG_ir_attribute},
    {OP_if, "if %n {\nyield\n} {\nyield\n}", DIAG_ir_operand_type},
    {OP_if, "if %tc {\nyield\n} {\nyield\n}", DIAG_ir_operand_type},
    {OP_if, "if %c (%a: i32) {\nyield\n} {\nyield\n}", DIAG_ir_region_args},
    {OP_if, "%r = if %c : buffer<8xf32, {reg = [1, 2, 4]}> {\nyield %sb\n} {\nyield %sb\n}",
     DIAG_ir_result_from},
    {OP_yield, "yield", DIAG_ir_place},
    {OP_yield, "if %c {\nyield %n\n} {\nyield\n}", DIAG_ir_passed_on},
    {OP_yield, "%r = if %c : i32 {\nyield %n\n} {\nyield %x\n}", DIAG_ir_passed_on},
    {OP_yield, "while {\nyield\n} {\nyield\n}", DIAG_ir_place},
    {OP_condition, "condition %c", DIAG_ir_place},
    {OP_condition, "while {\ncondition\n} {\nyield\n}", DIAG_ir_operand_count},
    {OP_condition, "while {\ncondition %n\n} {\nyield\n}", DIAG_ir_operand_type},
    {OP_condition, "while {\ncondition %c, %n\n} {\nyield\n}", DIAG_ir_passed_on},
    {OP_condition, "while {\ncondition %c\n} {\ncondition %c\n}", DIAG_ir_place},
    {OP_print, "print %sb {prefix = \"\"}", DIAG_ir_operand_type},
    {OP_print, "print %x {prefix = \"\", unsigned_operands = 1}", DIAG_ir_attribute},
    {OP_print, "print %x {prefix = \"\", unsigned_operands = 2}", DIAG_ir_attribute},
    {OP_assert, "assert %n {message = \"\"}", DIAG_ir_operand_type},
    {OP_convert_layout, "%r = convert_layout %tf : tile<8xf32, {reg = [1, 2, 4]}>",
     DIAG_ir_operand_type},
    {OP_convert_layout, "%r = convert_layout %af : tile<8xf32>", DIAG_ir_result_from},
    {OP_convert_layout, "%r = convert_layout %af : tile<4x2xf32, {reg = [1, 2, 4]}>",
     DIAG_ir_result_from},
    {OP_convert_layout, "%r = convert_layout %af : tile<8xi32, {reg = [1, 2, 4]}>",
     DIAG_ir_result_from},
    {OP_local_alloc, "%r = local_alloc {offset = 0} : tile<8xf32>", DIAG_ir_result_type},
    {OP_local_alloc, "%r = local_alloc {offset = -2} : buffer<8xf32, {reg = [1, 2, 4]}>",
     DIAG_ir_attribute},
    {OP_local_store, "local_store %tf, %tf", DIAG_ir_operand_type},
    {OP_local_store, "local_store %ti, %sb", DIAG_ir_operand_pair},
    {OP_local_store, "local_store %uf, %sb {at = 4}", DIAG_ir_operand_pair},
    {OP_local_store, "local_store %wf, %sb", DIAG_ir_operand_pair},
    {OP_local_store, "local_store %tp, %sb", DIAG_ir_operand_pair},
    {OP_local_store, "local_store %tf, %sb {at = 4}", DIAG_ir_operand_pair},
    {OP_local_load, "%r = local_load %sb, %ti : tile<8xf32>", DIAG_ir_operand_type},
    {OP_local_load, "%r = local_load %sb, %tf {at = 4} : tile<8xf32>", DIAG_ir_result_from},
    {OP_local_load, "%r = local_load %tf : tile<8xf32>", DIAG_ir_operand_type},
    {OP_local_load, "%r = local_load %sb : tile<8xi32>", DIAG_ir_result_from},
    {OP_local_load, "%r = local_load %sb {at = 2} : tile<4xf32>", DIAG_ir_result_from},
    {OP_local_load, "%r = local_load %sb {at = 8} : tile<4xf32>", DIAG_ir_result_from},
    {OP_local_alloc,
     "%r = local_alloc {offset = 0, copies = 65} : buffer<8xf32, {reg = [1, 2, 4]}>",
     DIAG_ir_attribute},
    {OP_local_alloc,
     "%r = local_alloc {offset = 0, stride = 16} : buffer<8xf32, {reg = [1, 2, 4]}>",
     DIAG_ir_attribute},
    {OP_local_alloc,
     "%r = local_alloc {offset = 0, stride = 40} : buffer<8xf32, {reg = [1, 2, 4]}>",
     DIAG_ir_attribute},
    {OP_local_view, "%r = local_view %tf, %one : buffer<8xf32, {reg = [1, 2, 4]}>",
     DIAG_ir_operand_type},
    {OP_local_view, "%r = local_view %sb, %ti : buffer<8xf32, {reg = [1, 2, 4]}>",
     DIAG_ir_operand_type},
    {OP_local_view, "%r = local_view %sb, %one {ahead = 1} : buffer<8xf32, {reg = [1, 2, 4]}>",
     DIAG_ir_attribute},
    {OP_async_copy, "async_copy %tf, %sb", DIAG_ir_operand_type},
    {OP_async_copy, "async_copy %tp, %tf", DIAG_ir_operand_type},
    {OP_async_copy, "async_copy %ap, %sb, %tf", DIAG_ir_operand_type},
    {OP_async_copy, "async_copy %ap, %sb {width = 8}", DIAG_ir_attribute},
    {OP_async_wait, "async_wait {pending = -1}", DIAG_ir_attribute},
    {OP_mbarrier_alloc, "%r = mbarrier_alloc {offset = 0} : buffer<1xi32, {}>",
     DIAG_ir_result_type},
    {OP_mbarrier_alloc, "%r = mbarrier_alloc {offset = 0} : buffer<2xi64, {reg = [1]}>",
     DIAG_ir_result_type},
    {OP_local_load, "%r = local_load %mb : tile<1xi64>", DIAG_ir_operand_type},
    {OP_mbarrier_alloc, "%r = mbarrier_alloc {offset = 0, arrivals = 3} : buffer<1xi64, {}>",
     DIAG_ir_attribute},
    {OP_mbarrier_alloc, "%r = mbarrier_alloc {offset = 0, arrivals = 64} : buffer<1xi64, {}>",
     DIAG_ir_attribute},
    {OP_mbarrier_arrive, "mbarrier_arrive %sb, %c", DIAG_ir_operand_type},
    {OP_mbarrier_arrive, "mbarrier_arrive %mb, %c", DIAG_ir_operand_type},
    {OP_mbarrier_arrive, "mbarrier_arrive %eb, %n", DIAG_ir_operand_type},
    {OP_turn_wait, "turn_wait", DIAG_ir_place},
    {OP_turn_pass, "turn_pass %c, %c", DIAG_ir_place},
    {OP_turn_pass, "turn_pass %c, %n", DIAG_ir_operand_type},
    {OP_producer, "if %c {\nproducer {\nyield\n}\nyield\n} {\nyield\n}", DIAG_ir_place},
    {OP_producer, "producer {\nyield\n}\nproducer {\nyield\n}", DIAG_ir_place},
    {OP_producer, "producer {\nbarrier\nyield\n}", DIAG_ir_place},
    {OP_producer, "producer {\n%v = load %p : f32\nyield\n}", DIAG_ir_place},
    {OP_producer, "producer {\n%v = splat %x : tile<8xf32>\nyield\n}", DIAG_ir_place},
    {OP_producer, "producer (%v: i32) {\nyield\n}", DIAG_ir_region_args},
    {OP_mbarrier_expect, "mbarrier_expect %eb, %c {bytes = 32}", DIAG_ir_operand_type},
    {OP_mbarrier_expect, "mbarrier_expect %sb, %c {bytes = 32}", DIAG_ir_operand_type},
    {OP_mbarrier_expect, "mbarrier_expect %mb, %n {bytes = 32}", DIAG_ir_operand_type},
    {OP_mbarrier_expect, "mbarrier_expect %mb, %c {bytes = 0}", DIAG_ir_attribute},
    {OP_mbarrier_expect, "mbarrier_expect %mb, %c {bytes = 1048576}", DIAG_ir_attribute},
    {OP_mbarrier_wait, "mbarrier_wait %sb, %one", DIAG_ir_operand_type},
    {OP_mbarrier_wait, "mbarrier_wait %mb, %c", DIAG_ir_operand_type},
    {OP_mbarrier_wait, "mbarrier_wait %mb, %one, %one", DIAG_ir_operand_type},
    {OP_copy_block, "copy_block %p, %sb, %mb {checked = 0}", DIAG_ir_operand_count},
    {OP_copy_block, "copy_block %q, %sb, %mb, %c, %l, %l, %n {checked = 0}", DIAG_ir_operand_type},
    {OP_copy_block, "copy_block %p, %tf, %mb, %c, %l, %l, %n {checked = 0}", DIAG_ir_operand_type},
    {OP_copy_block, "copy_block %p, %sb, %sb, %c, %l, %l, %n {checked = 0}", DIAG_ir_operand_type},
    {OP_copy_block, "copy_block %p, %sb, %mb, %n, %l, %l, %n {checked = 0}", DIAG_ir_operand_type},
    {OP_copy_block, "copy_block %p, %sb, %mb, %c, %l, %l {checked = 0}", DIAG_ir_operand_count},
    {OP_copy_block, "copy_block %p, %sb, %mb, %c, %l, %l, %n {checked = 2}", DIAG_ir_attribute},
    {OP_store_block_from, "store_block_from %p, %mb, %l, %l, %n {checked = 0}",
     DIAG_ir_operand_type},
    {OP_store_block_from, "store_block_from %p {checked = 0}", DIAG_ir_operand_count},
    {OP_store_wait, "store_wait {pending = 64}", DIAG_ir_attribute},
    {OP_wgmma, "%r = wgmma %mf, %mf, %mf : tile<8x8xf32>", DIAG_ir_operand_type},
    {OP_wgmma, "%r = wgmma %sb, %sb, %mf : tile<8x8xf32>", DIAG_ir_operand_type},
    {OP_wgmma_joint, "%r = wgmma_joint %sb, %sb, %mf : tile<8x8xf32>", DIAG_ir_operand_count},
    {OP_wgmma_joint, "%r = wgmma_joint %sb, %sb, %sb, %mf, %mf : tile<8x8xf32>",
     DIAG_ir_result_count},
    {OP_wgmma_joint, "%r, %s = wgmma_joint %sb, %sb, %sb, %mf, %mf : tile<8x8xf32>, tile<8x8xi32>",
     DIAG_ir_result_type},
    {OP_wgmma_joint, "%r, %s = wgmma_joint %sb, %sb, %sb, %mf, %mf : tile<8x8xf32>, tile<8x8xf32>",
     DIAG_ir_operand_type},
    {OP_wgmma_wait, "%r = wgmma_wait %tf : tile<8xf32>", DIAG_ir_operand_type},
    {OP_wgmma_wait, "%r = wgmma_wait %mf {pending = -1} : tile<8x8xf32>", DIAG_ir_attribute},
    {OP_local_load, "%r = local_load %sb : buffer<8xf32, {reg = [1, 2, 4]}>", DIAG_ir_result_from},
};

static void test_rules_refuse(void **state) {
    uint32_t prelude_lines = 0;
    for (const char *c = prelude; *c; c++)
        prelude_lines += *c == '\n';
    for (size_t i = 0; i < sizeof bad_ops / sizeof *bad_ops; i++) {
        const BadOp *bad = &bad_ops[i];
        Ctx *ctx = testing_ctx();
        const char *text = str_format(&ctx->arena, "%s%s\nreturn\n}\n", prelude, bad->body);
        Module *module = testing_parse(ctx, text);
        const Diagnostic *first = ctx->diags.first;
        if (module || !first || first->id != bad->id)
            fail_msg("wanted %s for:\n%s\nfound:\n%s", diag_name(bad->id), bad->body,
                     testing_messages(ctx));
        /* It is this op that is at fault, not the prelude. */
        assert_true(source_locate(source_get(&ctx->sources, 1), first->span.lo).line >
                    prelude_lines);
        ctx_destroy(ctx);
    }
}

/* A message names what was found and what was wanted, types in full. */
static void test_messages(void **state) {
    static const struct {
        const char *body, *message;
    } cases[] = {
        {"%r = addi %n, %l : i32",
         "'addi': operands 'a' and 'b' are i32 and i64, wanted equal types"},
        {"%r = broadcast %ti : tile<16xi32>",
         "'broadcast': result is tile<16xi32> and operand tile<8xi32>, wanted dimensions to differ "
         "only where it has 1"},
        {"%r = program_id {axis = 3} : i32",
         "'program_id': attribute 'axis' is 3, wanted 0, 1 or 2"},
        {"%r = addi %n, %n : i64", "'addi': result is i64, wanted i32"},
        {"if %c {\nyield %n, %x\n} {\nyield\n}",
         "'yield' passes on (i32, f32), the enclosing 'if' wants ()"},
        {"for %n, %n, %n (%i: i64) {\nyield\n}", "'for': region 0 takes (i64), wanted (i32)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Ctx *ctx = testing_ctx();
        testing_parse(ctx, str_format(&ctx->arena, "%s%s\nreturn\n}\n", prelude, cases[i].body));
        assert_non_null(ctx->diags.first);
        assert_string_equal(ctx->diags.first->text, cases[i].message);
        ctx_destroy(ctx);
    }
}

/* A rule without a bad case would not be noticed when it stops checking. */
static void test_every_rule_has_a_case(void **state) {
    for (int code = 0; code < OP_COUNT; code++) {
        bool covered = op_rule[code] == op_rule[OP_return]; /* accepts everything */
        for (size_t i = 0; i < sizeof bad_ops / sizeof *bad_ops; i++)
            covered |= op_rule[bad_ops[i].code] == op_rule[code];
        if (!covered)
            fail_msg("no bad case for the rule of '%s'", op_info[code].name);
    }
}

/* Layouts of results follow from those of operands. */
static void test_layouts_are_inferred(void **state) {
    Ctx *ctx = testing_ctx();
    testing_parse_good(
        ctx,
        "layout #M = {reg = [1, 2], lane = [4, 8, 16, 32, 64], warp = [128, 256]}\n"
        "layout #T = {reg = [32, 64], lane = [128, 256, 1, 2, 4], warp = [8, 16]}\n"
        "layout #R = {lane = [0, 0, 1, 2, 4], warp = [8, 16]}\n"
        "layout #C = {reg = [1, 2], lane = [4, 8, 0, 0, 0], warp = [0, 0]}\n"
        "layout #K = {lane = [0, 0, 0, 0, 0], warp = [1, 2]}\n"
        "layout #P = {reg = [1], lane = [0, 0, 0, 0, 0], warp = [0, 0]}\n"
        "layout #J = {reg = [1, 2, 4], lane = [8, 16, 32, 64, 128], warp = [256, 512]}\n"
        "func @f(%x: f32) {num_warps = 4, has_layouts = true} {\n"
        "    %m = splat %x : tile<32x16xf32, #M>\n"
        "    %t = transpose %m {order = [1, 0]} : tile<16x32xf32, #T>\n"
        "    %s = reshape %m : tile<512xf32, #M>\n"
        "    %e = expand_dims %m {axis = 1} : tile<32x1x16xf32, #M>\n"
        "    %j = join %m, %m : tile<32x16x2xf32, #J>\n"
        "    %a, %b = split %j : tile<32x16xf32, #M>, tile<32x16xf32, #M>\n"
        "    %rows = reduce %m {axis = 1} : tile<32xf32, #R> (%u: f32, %v: f32) {\n"
        "        yield %u\n    }\n"
        "    %cols = reduce %m {axis = 0} : tile<16xf32, #C> (%u: f32, %v: f32) {\n"
        "        yield %u\n    }\n"
        "    %warps = reduce %rows {axis = 0, keep = 24} : tile<4xf32, #K> (%u: f32, %v: f32) {\n"
        "        yield %u\n    }\n"
        "    %all = reduce %warps {axis = 0} : f32 (%u: f32, %v: f32) {\n"
        "        yield %u\n    }\n"
        "    %col = expand_dims %rows {axis = 1} : tile<32x1xf32, #R>\n"
        "    %wide = broadcast %col : tile<32x16xf32, #M>\n"
        "    %sum = addf %wide, %a : tile<32x16xf32, #M>\n"
        "    %two = splat %x : tile<2xf32, #P>\n"
        "    %lo, %hi = split %two : f32, f32\n"
        "    return\n}\n");
    ctx_destroy(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules_refuse),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_every_rule_has_a_case),
        cmocka_unit_test(test_layouts_are_inferred),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
