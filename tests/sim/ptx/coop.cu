#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
extern "C" __global__ void coop(const int *x, int *y, int n) {
    __shared__ int part[32];
    cg::thread_block block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    auto tile = cg::tiled_partition<8>(block);
    int i = block.thread_rank() + blockIdx.x * blockDim.x;
    int v = i < n ? x[i] : 0;
    int s = cg::reduce(tile, v, cg::plus<int>());
    int m = cg::reduce(warp, v, cg::greater<int>());
    int e = cg::exclusive_scan(warp, v, cg::plus<int>());
    if (warp.thread_rank() == 0) part[warp.meta_group_rank()] = m;
    block.sync();
    int all = 0;
    for (unsigned w = 0; w < warp.meta_group_size(); w++) all = max(all, part[w]);
    auto active = cg::coalesced_threads();
    if (v & 1) {
        auto odd = cg::coalesced_threads();
        s += odd.size();
    }
    if (i < n) y[i] = s * 3 + e * 5 + all * 7 + active.size();
}
