extern "C" __global__ void bits(const unsigned *x, unsigned *y, const unsigned long long *p, unsigned long long *q) {
    int i = threadIdx.x; unsigned v = x[i]; unsigned long long w = p[i];
    y[i] = __popc(v) + __clz(v) * 3 + __ffs(v) + (__brev(v) ^ __byte_perm(v, ~v, 0x3715)) + __funnelshift_l(v, v * 3, i) + __umulhi(v, 12345) + __usad(v, 77, 5) + __vadd2(v, 0x00010002) + __dp4a((int)v, 0x01020304, 7) + __vmaxs2(v, 12) + __vabsdiffu4(v, 0x10203040) + __uhadd(v, 9) + v / 7 + v % 13;
    q[i] = __popcll(w) + __clzll(w) + (__brevll(w) ^ __umul64hi(w, w)) + w / 10 + w % 1000003 + (unsigned long long)(__int128)((unsigned __int128)w * w >> 37);
}
