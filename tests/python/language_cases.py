"""What test_language.py asks of tilec, and record_language.py of Triton: expressions over `tl`, `core`, `utils` and `triton`."""
import itertools

VALUES = ("0", "-3", "7", "2.5", "True", "'ab'", "(1, 2)", "None")
BINARY = ("+", "-", "*", "/", "//", "%", "**", "<", "<=", ">", ">=", "==", "!=", "&", "|", "^", "<<", ">>")
DTYPES = ("int1 int8 int16 int32 int64 uint8 uint16 uint32 uint64 fp8e4b15 fp8e4nv fp8e4b8 fp8e5 fp8e5b16 fp16 bf16 fp32 fp64 "
          "void").split()
ATTRIBUTES = ("name primitive_bitwidth itemsize int_bitwidth int_signedness fp_mantissa_width exponent_bias scalar "
              "cache_key_part").split()
METHODS = ("is_fp8 is_fp8e4nv is_fp8e4b8 is_fp8e4b15 is_fp8e5 is_fp8e5b16 is_fp16 is_bf16 is_fp32 is_fp64 is_int1 is_int8 is_int16 "
           "is_int32 is_int64 is_uint8 is_uint16 is_uint32 is_uint64 is_floating is_standard_floating is_int_signed is_int_unsigned "
           "is_int is_bool is_void kind get_int_max_value get_int_min_value is_block is_ptr is_const codegen_name mangle __hash__").split()
TYPES = ("tl.float32", "tl.void", "tl.pi32_t", "tl.pointer_type(tl.float16, const=True)", "tl.pointer_type(tl.float8e5, 3)",
         "tl.pointer_type(tl.pointer_type(tl.int1))", "tl.block_type(tl.int32, [4, 8])", "tl.block_type(tl.pi32_t, [16])",
         "tl.block_type(tl.float16, [tl.constexpr(2)])", "tl.constexpr_type(3)", "tl.tuple_type([tl.int32, tl.pi32_t])",
         "tl.tuple_type([tl.int32, tl.float64], ['a', 'b'])", "core.slice_type()",
         "tl.str_to_ty('tensordesc<fp16[16, 64]>', None)")
OF_TYPES = ("str({})", "repr({})", "{}.mangle()", "{} == {}", "{} != {}", "{}.scalar", "{}.is_ptr()", "{}.is_const()",
            "{}.is_block()", "{}.is_fp8()", "{}.is_int()", "{}.shape", "{}.numel", "{}.nbytes", "{}.element_ty", "{}.name", "{}.types",
            "{}.fields", "list({})", "{}.with_element_ty(tl.int8)", "{}.get_block_shapes()")
SIGNATURES = ("i1 i8 i16 i32 i64 u1 u8 u16 u32 u64 B fp8e4nv fp8e4b8 fp8e5 fp8e5b16 fp8e4b15 fp16 bf16 fp32 fp64 *fp32 *kfp16 **i8 "
              "*ki64 constexpr").split()
OTHERS = """
tl.constexpr(tl.constexpr(3)).value
str(tl.constexpr('x'))
hash(tl.constexpr(5)) == hash((5, tl.constexpr_type(5)))
{tl.constexpr(1): 2}[tl.constexpr(1)]
[0, 1, 2][tl.constexpr(1)]
list(tl.constexpr([1, 2]))
tl.constexpr([1, 2, 3])[tl.constexpr(1)]
tl.constexpr([1, 2, 3])[1:]
tl.constexpr({'a': 1})['a']
tl.constexpr(5)[0]
tl.constexpr(max)(1, 4)
-tl.constexpr(2)
+tl.constexpr(2)
~tl.constexpr(2)
bool(tl.constexpr(0))
bool(tl.constexpr(0) == 0)
not tl.constexpr(0)
tl.constexpr(0).__not__()
tl.constexpr(0).logical_or(tl.constexpr(4))
tl.constexpr(2).logical_and(0)
tl.constexpr(1).type
tl.constexpr(1).type == tl.constexpr_type(1)
range(tl.constexpr(3))
int(tl.constexpr(3))
float(tl.constexpr(3))
len(tl.constexpr([1]))
abs(tl.constexpr(-1))
3 in tl.constexpr([1, 2, 3])
tl.constexpr(3).nothing
isinstance(tl.constexpr(3), core.base_value)
core._unwrap_if_constexpr([tl.constexpr(1), (tl.constexpr(2), 3)])
core._unwrap_if_constexpr(tl.constexpr([tl.constexpr(1)]))
core._unwrap_if_constexpr(tl.tuple([tl.constexpr(1), 2]))
core._normalize_tuple([1, tl.constexpr(2)])
core._normalize_tuple(3)
core._unwrap_shape([tl.constexpr(4), 8])
core._shape_check_impl([4, 8])
core._shape_check_impl([3])
core._unwrap_iterable(([1, 2],))
core._unwrap_iterable((1, 2))
core._unwrap_iterable((1,))
core.is_builtin(tl.load)
core.is_builtin(len)
core.builtin(lambda x, _semantic=None: x)(3)
core.builtin(lambda x, _semantic=None: x)(3, _semantic=1)
core.is_builtin(core.extern(lambda x: x))
core.must_use_result(lambda: 0)._must_use_result
core.must_use_result('why')(lambda: 0)._must_use_result
tl.dtype('int3')
tl.dtype(tl.constexpr('fp16'))
tl.dtype.is_dtype('bf16')
tl.dtype.is_dtype('float16')
tl.dtype.SINT_TYPES, tl.dtype.UINT_TYPES, tl.dtype.FP_TYPES, tl.dtype.STANDARD_FP_TYPES, tl.dtype.OTHER_TYPES
tl.float32 == tl.constexpr(tl.float32)
tl.float32 == 'fp32'
tl.float32 != tl.float16
{tl.float32: 1}[tl.dtype('fp32')]
tl.int32.with_element_ty(tl.int8)
tl.pointer_type(3)
tl.pointer_type(tl.int8) == tl.pointer_type(tl.int8, const=True)
tl.pointer_type(tl.int8) == tl.pointer_type(tl.int8, 3)
tl.pointer_type(tl.int8) == tl.constexpr(tl.pointer_type(tl.int8))
tl.pointer_type(tl.constexpr(tl.int8)).element_ty
{tl.pointer_type(tl.int8): 1}
{tl.block_type(tl.int8, [2]): 1}
tl.block_type(tl.int8, [])
tl.block_type(tl.int8, [3])
tl.block_type(tl.int8, ['a'])
tl.block_type(tl.int8, [1 << 21])
tl.block_type(tl.int8, 4)
tl.block_type(tl.int8, tl.tuple([4, 2])).numel
tl.block_type(tl.int8, [4, 2]) == tl.block_type(tl.int8, [2, 4])
tl.block_type(tl.int8, [4]) == tl.int8
core.get_int_dtype(1, True)
core.get_int_dtype(32, False)
core.get_int_dtype(24, False)
str(tl.tensor(None, tl.int32))
str(tl.tensor(None, tl.block_type(tl.float16, [4, 8])))
tl.tensor(None, tl.block_type(tl.float16, [4, 8])).shape
tl.tensor(None, tl.block_type(tl.float16, [4, 8])).numel
tl.tensor(None, tl.block_type(tl.float16, [4, 8])).dtype
tl.tensor(None, tl.pi32_t).dtype
tl.tensor(None, tl.int32).numel
tl.tensor(None, tl.int32) + 1
1 - tl.tensor(None, tl.int32)
-tl.tensor(None, tl.int32)
tl.tensor(None, tl.int32)[None]
tl.tensor(None, tl.int32) == 1
hash(tl.tensor(None, tl.int32))
tl.tensor(None, tl.int32).to(tl.int8)
tl.tensor(None, tl.int32).nothing
tl.tuple([1, 2])
str(tl.tuple([1, tl.constexpr(2)]))
tl.tuple([1, tl.constexpr(2), tl.float32]).type.mangle()
str(tl.tuple([1, tl.constexpr(2)]).type)
tl.tuple([1, 2])[0]
tl.tuple([1, 2, 3])[tl.constexpr(2)]
tl.tuple([1, 2, 3])[1:]
tl.tuple([1, 2, 3])['a']
tl.tuple([1, 2]) + tl.tuple([3])
tl.tuple([1, 2]) + (3,)
tl.tuple([1, 2]) * tl.constexpr(2)
tl.tuple([1, 2]) * 2
tl.tuple([1, 2]) == (1, 2)
bool(tl.tuple([1, 2]) == tl.tuple([1, 3]))
hash(tl.tuple([1, 2])) == hash((1, 2))
len(tl.tuple([1, 2]))
list(tl.tuple([1, 2]))
tl.tuple([1, 2], tl.tuple_type([tl.int32, tl.int32], ['a', 'b'])).b
tl.tuple([1, 2], [tl.int32, tl.int32]).type.fields
tl.tuple([[1]])
tl.tuple_type([tl.int32]) == tl.tuple_type([tl.int32])
tl.tuple_type([tl.int32])[0]
(tl.slice(1, 2, 3).start, tl.slice(1, 2, 3).stop, tl.slice(1, 2, 3).step)
tl.slice(1, 2, None).type.name
tl.tensor_descriptor(None, [tl.constexpr(4)], [tl.constexpr(1)], tl.block_type(tl.int8, [4])).dtype
str(tl.tensor_descriptor(None, [tl.constexpr(4)], [tl.constexpr(1)], tl.block_type(tl.int8, [4])))
tl.tensor_descriptor(None, [tl.constexpr(4)], [tl.constexpr(1)], tl.block_type(tl.int8, [4])).block_shape
tl.tensor_descriptor(None, [tl.constexpr(4)], [tl.constexpr(1)], tl.block_type(tl.int8, [4])).load([0])
sorted(vars(tl.range(4)).items(), key=str)
sorted(vars(tl.range(1, 4, 2, num_stages=3, flatten=True, loop_unroll_factor=2, warp_specialize=True, disable_licm=True)).items(), key=str)
iter(tl.range(4))
next(tl.range(4))
sorted(vars(tl.static_range(tl.constexpr(4))).items(), key=str)
sorted(vars(tl.static_range(tl.constexpr(1), tl.constexpr(4), tl.constexpr(2))).items(), key=str)
tl.static_range(4)
tl.static_range(tl.constexpr(1), 4)
iter(tl.static_range(tl.constexpr(4)))
sorted(vars(tl.condition(1, disable_licm=True)).items(), key=str)
(core.PropagateNan.NONE.name, int(core.PropagateNan.NONE), core.PropagateNan.ALL.name, int(core.PropagateNan.ALL))
tl.TRITON_MAX_TENSOR_NUMEL
tl.load(1)
tl.exp(1)
tl.math.exp(1)
tl.program_id(0)
tl.standard._log2(1), tl.standard._log2(8), tl.standard._log2(9)
triton.cdiv(7, 2), triton.cdiv(8, 2), triton.cdiv(tl.constexpr(7), 2)
[triton.next_power_of_2(n) for n in (0, 1, 2, 3, 17, 1 << 33, -1)]
[k for k in (tl.random.N_ROUNDS_DEFAULT,)]
tl.str_to_ty('i3', None)
str(tl.str_to_ty(('i32', ('*fp32', 'i8')), 4))
tl.str_to_ty('tensordesc<fp16[16, 64]>', None).shape_type == tl.tuple_type([tl.int32] * 2)
tl.str_to_ty('tensordesc<fp16[16, 64]>', None).strides_type == tl.tuple_type([tl.int64] * 2)
tl.str_to_ty('tensordesc<fp16[16, 64]>', None) == tl.str_to_ty('tensordesc<fp16[16,64]>', None)
utils.find_paths_if((1, (2, 3), [4]), lambda path, x: x > 1)
utils.find_paths_if(3, lambda path, x: True)
utils.get_iterable_path((1, (2, 3)), (1, 0))
utils.get_iterable_path(5, ())
utils.set_iterable_path((1,), (0,), 4)
utils.validate_block_shape([2, 4])
utils.validate_block_shape([True])
utils.canonicalize_dtype('torch.float32')
utils.canonicalize_dtype(tl.float8e4nv)
utils.canonicalize_dtype('complex64')
utils.canonicalize_ptr_dtype('bfloat16', True)
sorted(utils.type_canonicalisation_dict.items())
sorted(utils.BITWIDTH_DICT.items())
utils.is_namedtuple(tuple)
utils.is_power_of_two(8), utils.is_power_of_two(6)
""".strip().split("\n")


def expressions():
    for a, b, op in itertools.product(VALUES, VALUES, BINARY):
        yield f"tl.constexpr({a}) {op} {b}"
        yield f"{a} {op} tl.constexpr({b})"
    yield from (f"tl.constexpr({a}) {op} tl.constexpr(2)" for a in VALUES for op in BINARY)
    for name in DTYPES:
        yield from (f"repr(tl.dtype('{name}'))", f"str(tl.dtype('{name}'))")
        yield from (f"tl.dtype('{name}').{attribute}" for attribute in ATTRIBUTES)
        yield from (f"tl.dtype('{name}').{method}()" for method in METHODS if method != "__hash__")
    for type_, form in itertools.product(TYPES, OF_TYPES):
        yield form.replace("{}", type_)
    for a, b in itertools.combinations(TYPES, 2):
        yield f"{a} == {b}"
    yield from (f"tl.str_to_ty('{name}', 7)" for name in SIGNATURES)
    yield from OTHERS


def outcome(expression, scope):
    """[type, repr] of a value; [name of the exception]."""
    try:
        value = eval(expression, dict(scope))
        text = repr(value)
        return [type(value).__name__, text if " object at 0x" not in text else "an object"]
    except Exception as error:
        return [type(error).__name__]


def scope():
    import triton
    import triton.language as tl
    from triton import _utils as utils

    return {"triton": triton, "tl": tl, "core": tl.core, "utils": utils}
