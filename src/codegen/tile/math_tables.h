/* Coefficients, lowest power first, and the bits of 2/pi. */
#ifndef TILEC_CODEGEN_TILE_MATH_TABLES_H
#define TILEC_CODEGEN_TILE_MATH_TABLES_H
#include <stdint.h>

/* (log(1 + f) - f) / f^2 on [sqrt(1/2) - 1, sqrt(2) - 1] */
static const double log_table_f32[] = {-0x1.0p-1,      0x1.55554ep-2, -0x1.000008p-2, 0x1.99a13p-3,
                                       -0x1.5559e6p-3, 0x1.237a56p-3, -0x1.fcc1aep-4, 0x1.e3d33ap-4,
                                       -0x1.d962f2p-4, 0x1.15425cp-4};
/* (log2(1 + f) - f * log2(e)) / f^2, same interval */
static const double log2_table_f32[] = {-0x1.715476p-1, 0x1.ec709ap-2,  -0x1.71576ap-2,
                                        0x1.277b7p-2,   -0x1.eb41e6p-3, 0x1.a3b3c8p-3,
                                        -0x1.83df38p-3, 0x1.77e8bcp-3,  -0x1.c574f6p-4};
/* (cos(r) - 1 + z / 2) / z^2 */
static const double cos_table_f32[] = {0x1.555554p-5, -0x1.6c12bep-10, 0x1.9bcdc6p-16};
/* (sin(r) / r - 1) / z, z = r^2, r up to pi/4 */
static const double sin_table_f32[] = {-0x1.555556p-3, 0x1.11110ep-7, -0x1.a01388p-13,
                                       0x1.6db388p-19};
/* the same */
static const double sin_table_f64[] = {
    -0x1.5555555555555p-3,  0x1.111111111111p-7,   -0x1.a01a01a0198dep-13, 0x1.71de3a5455b9ap-19,
    -0x1.ae64540000f84p-26, 0x1.6121703ee57b1p-33, -0x1.ab0f25d21fd92p-41};
/* the same */
static const double cos_table_f64[] = {
    0x1.5555555555555p-5, -0x1.6c16c16c16c16p-10, 0x1.a01a01a019ce2p-16, -0x1.27e4fb770e01dp-22,
    0x1.1eed8de33ebep-29, -0x1.9394ace29bd7bp-37, 0x1.ab70a23137c25p-45};
/* (tanh(x) / x - 1) / z, z = x^2 up to 0.36 */
static const double tanh_table_f32[] = {-0x1.555554p-2, 0x1.110eep-3, -0x1.b955dcp-5, 0x1.59e1c8p-6,
                                        -0x1.9ada6p-8};
/* the same */
static const double tanh_table_f64[] = {
    -0x1.5555555555555p-2,  0x1.11111111110e3p-3,  -0x1.ba1ba1ba15b29p-5,  0x1.664f488056b96p-6,
    -0x1.226e34dc136f6p-7,  0x1.d6d3b05a99f57p-9,  -0x1.7da0cedf6d09bp-10, 0x1.3535559875683p-11,
    -0x1.f30583c23502ap-13, 0x1.876e3a6430a18p-14, -0x1.0d297a9d86a2cp-15, 0x1.d15602ab6f13ap-18};
/* erf(x) / x in z = x^2 up to 1 */
static const double erf_table_f32[] = {0x1.20dd74p+0, -0x1.81273ep-2,  0x1.ce2d1p-4, -0x1.b7fabap-6,
                                       0x1.54127p-8,  -0x1.a45088p-11, 0x1.4a569p-14};
/* log2(erfc(x)) on [1, 4] */
static const double erf_tail_table_f32[] = {-0x1.21a868p-10, -0x1.9fd384p+0, -0x1.d81ba6p-1,
                                            -0x1.312892p-3,  0x1.0b27e2p-5,  -0x1.448608p-8,
                                            0x1.df745cp-12,  -0x1.413fe8p-16};
/* log2(erfc(x)) / x from 0 on, weighted by erfc(x); falls on beyond 4 */
static const double erfc_table_f32[] = {-0x1.a0be9ep+0, -0x1.d63aaep-1,  -0x1.301712p-3,
                                        0x1.cee862p-6,  -0x1.963a66p-11, -0x1.86619ap-10,
                                        0x1.d304eep-12, -0x1.7c5248p-15};
/* log2(erfc(a / sqrt 2) / 2) on [0, 6], weighted to 2^-24 of erfc or 2^-27; falls on beyond */
static const double gelu_table_f32[] = {-0x1.fffffep-1,  -0x1.26aefcp+0, -0x1.d635dcp-2,
                                        -0x1.ae7e28p-5,  0x1.d3fb1p-8,   -0x1.9a8408p-13,
                                        -0x1.53a6a4p-13, 0x1.1fb99cp-15, -0x1.43c2cap-19};
/* the same to 2^-15 or 2^-25 */
static const double gelu_rounded_table_f32[] = {-0x1.000284p+0, -0x1.268012p+0, -0x1.d85ec8p-2,
                                                -0x1.9d9fdap-5, 0x1.ad69cep-8,  -0x1.a4c22cp-12};
/* erf(x) / x in z = x^2 up to 1 */
static const double erf_table_f64[] = {
    0x1.20dd750429b6dp+0,  -0x1.812746b0379e7p-2,  0x1.ce2f21a042be2p-4,  -0x1.b82ce31288b47p-6,
    0x1.565bcd0e6a2eep-8,  -0x1.c02db40035f1ep-11, 0x1.f9a326f7ac5b1p-14, -0x1.f4d25bf9af03ap-17,
    0x1.b9e6c38e5cf3dp-20, -0x1.5f73c3bf14b91p-23, 0x1.fcbb312b48443p-27, -0x1.517ce02f1265fp-30,
    0x1.9a0fcb5e22c5bp-34, -0x1.b40e7abf9fp-38,    0x1.3c01fd3a74542p-42};
/* (exp(r) - 1 - r) / r^2 on +-log(2) / 2 */
static const double exp_table_f64[] = {0x1.0p-1,
                                       0x1.5555555555557p-3,
                                       0x1.5555555555556p-5,
                                       0x1.11111111100bep-7,
                                       0x1.6c16c16c162fep-10,
                                       0x1.a01a01abf85abp-13,
                                       0x1.a01a01a6d03ffp-16,
                                       0x1.71de01fdbf9cap-19,
                                       0x1.27e4db6b6fe76p-22,
                                       0x1.af4e554377204p-26,
                                       0x1.1f7309845b618p-29};
/* 2^r on +-1/2 */
static const double exp2_table_f64[] = {0x1.0p+0,
                                        0x1.62e42fefa39efp-1,
                                        0x1.ebfbdff82c58fp-3,
                                        0x1.c6b08d704a0cp-5,
                                        0x1.3b2ab6fba4e7ep-7,
                                        0x1.5d87fe78a6734p-10,
                                        0x1.430912f869ba1p-13,
                                        0x1.ffcbfc5889053p-17,
                                        0x1.62c0224a09b7fp-20,
                                        0x1.b5253d44f5213p-24,
                                        0x1.e4cef56477b15p-28,
                                        0x1.e8ca833b580a5p-32,
                                        0x1.c4c8ce0e4f581p-36,
                                        0x1.822742e95e26bp-40};
/* (log((1 + s) / (1 - s)) / s - 2) / z, z = s^2 */
static const double log_table_f64[] = {
    0x1.5555555555555p-1, 0x1.9999999999a43p-2, 0x1.249249247513dp-2, 0x1.c71c7204621fep-3,
    0x1.745cf7c1d5dafp-3, 0x1.3b1c79943fca2p-3, 0x1.0fb77bcdefa76p-3, 0x1.0c4d8297b1431p-3};
/* erfc(x) * exp(x^2) in 1 / (x + 2) on [1, 6.5] */
static const double erf_tail_table_f64[] = {
    -0x1.36eff41b98da4p-26, 0x1.20ddace9a2c42p-1,  0x1.20d8c08aa4a31p+0,   0x1.fa01a4a5410e4p+0,
    0x1.647c31d00cf1p+1,    0x1.9665546155159p+1,  -0x1.600006cdefe67p+2,  0x1.1d06ba59d2d1cp+5,
    -0x1.238414fc0eefep+8,  0x1.62e118556f19dp+10, -0x1.61d4ef2c686d2p+12, 0x1.17407f5323cb3p+14,
    -0x1.45021d4838eb9p+15, 0x1.0e9eedadcbb0bp+16, -0x1.3b011119293ecp+16, 0x1.e9c8c01e7a2dp+15,
    -0x1.cb4099615db56p+14, 0x1.8a2e5f832f772p+12};

/* Two words of zeros, then 2/pi. */
static const uint32_t two_over_pi[] = {
    0,          0,          0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041,
    0xfe5163ab, 0xdebbc561, 0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e,
    0xe88235f5, 0x2ebb4484, 0xe99c7026, 0xb45f7e41, 0x3991d639, 0x835339f4, 0x9c845f8b, 0xbdf9283b,
    0x1ff897ff, 0xde05980f, 0xef2f118b, 0x5a0a6d1f, 0x6d367ecf, 0x27cb09b7, 0x4f463f66, 0x9e5fea2d,
    0x7527bac7, 0xebe5f17b, 0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1, 0x1f8d5d08, 0x56033046, 0xfc7b6bab,
    0xf0cfbc20, 0x9af4361d, 0xa9e39161, 0x5ee61b08};
#endif
