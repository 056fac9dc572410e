target triple = "nvptx64-nvidia-cuda"
@ext = external addrspace(3) global [0 x i8], align 16
@g = addrspace(1) global [4 x i32] [i32 1, i32 2, i32 3, i32 4], align 4
@p = addrspace(1) global ptr addrspacecast (ptr addrspace(1) @g to ptr), align 8
@fl = addrspace(1) global [2 x half] [half 1.5, half -2.0]
@st = internal addrspace(1) constant { i8, i32, ptr, double } { i8 3, i32 7, ptr addrspacecast (ptr addrspace(1) @g to ptr), double 2.5 }
@sh = internal addrspace(3) global [64 x i32] undef, align 4
@c = addrspace(4) constant [3 x i64] [i64 1, i64 -2, i64 3]
@man = addrspace(1) externally_initialized global i32 0
@fp = addrspace(1) global [2 x ptr] [ptr @f1, ptr @f2]
define i32 @f1(i32 %x) noinline { %r = add i32 %x, 1 ret i32 %r }
define i32 @f2(i32 %x) noinline { %r = mul i32 %x, 3 ret i32 %r }
define [3 x float] @arr([3 x float] %a) noinline { %x = extractvalue [3 x float] %a, 1 %y = fadd float %x, 1.0 %r = insertvalue [3 x float] %a, float %y, 0 ret [3 x float] %r }
define i128 @wide(i128 %a) noinline { %r = mul i128 %a, 12345 ret i128 %r }
define <4 x i8> @v4(<4 x i8> %a) noinline { %r = add <4 x i8> %a, <i8 1, i8 2, i8 3, i8 4> ret <4 x i8> %r }
define i1 @b1(i1 %a, i8 signext %b) noinline { %t = icmp sgt i8 %b, 3 %r = xor i1 %a, %t ret i1 %r }
declare void @die() noreturn
define ptx_kernel void @k(ptr addrspace(1) %out, ptr byval({i32, i64}) align 8 %s, i32 %n, i8 %c, i1 %flag, half %h, <2 x float> %v, i128 %w) "nvvm.maxntid"="128" "nvvm.minctasm"="2" "nvvm.maxnreg"="64" {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %local = alloca [8 x i32], align 4
  %i = and i32 %tid, 7
  %gp = getelementptr [8 x i32], ptr %local, i32 0, i32 %i
  store i32 %n, ptr %gp
  %a0 = insertvalue [3 x float] undef, float 1.0, 0
  %a1 = insertvalue [3 x float] %a0, float 2.0, 1
  %a2 = insertvalue [3 x float] %a1, float 3.0, 2
  %ar = call [3 x float] @arr([3 x float] %a2)
  %af = extractvalue [3 x float] %ar, 0
  %ai = fptosi float %af to i32
  %ww = call i128 @wide(i128 %w)
  %wt = trunc i128 %ww to i32
  %vv = call <4 x i8> @v4(<4 x i8> <i8 1, i8 2, i8 3, i8 4>)
  %vi = bitcast <4 x i8> %vv to i32
  %bb = call i1 @b1(i1 %flag, i8 signext %c)
  %bi = zext i1 %bb to i32
  %fpp = getelementptr [2 x ptr], ptr addrspace(1) @fp, i32 0, i32 %i
  %one = and i32 %tid, 1
  %fq = getelementptr [2 x ptr], ptr addrspace(1) @fp, i32 0, i32 %one
  %fn = load ptr, ptr addrspace(1) %fq
  %ind = call i32 %fn(i32 %tid)
  %sp = getelementptr {i32, i64}, ptr %s, i32 0, i32 1
  %sv = load i64, ptr %sp
  %st32 = trunc i64 %sv to i32
  %hf = fpext half %h to float
  %hi = fptosi float %hf to i32
  %v0 = extractelement <2 x float> %v, i32 1
  %v0i = fptosi float %v0 to i32
  %cc = getelementptr [3 x i64], ptr addrspace(4) @c, i32 0, i32 %one
  %cv = load i64, ptr addrspace(4) %cc
  %ci = trunc i64 %cv to i32
  switch i32 %i, label %d [ i32 0, label %s0
    i32 1, label %s1
    i32 2, label %s2
    i32 3, label %s3
    i32 4, label %s4 ]
s0: br label %end
s1: br label %end
s2: br label %end
s3: br label %end
s4: br label %end
d: br label %end
end:
  %ph = phi i32 [10, %s0], [21, %s1], [-32, %s2], [43, %s3], [5, %s4], [%tid, %d]
  %lv = load i32, ptr %gp
  %t1 = add i32 %ph, %lv
  %t2 = add i32 %t1, %ai
  %t3 = add i32 %t2, %wt
  %t4 = add i32 %t3, %vi
  %t5 = add i32 %t4, %bi
  %t6 = add i32 %t5, %ind
  %t7 = add i32 %t6, %st32
  %t8 = add i32 %t7, %hi
  %t9 = add i32 %t8, %v0i
  %t10 = add i32 %t9, %ci
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %tid
  store i32 %t10, ptr addrspace(1) %o
  ret void
}
define ptx_kernel void @dyn(ptr addrspace(1) %out, i32 %n) {
  %m = alloca i32, i32 %n
  %sp = call ptr @llvm.stacksave.p0()
  store i32 5, ptr %m
  %m2 = alloca i32, i32 %n
  store i32 7, ptr %m2
  call void @llvm.stackrestore.p0(ptr %sp)
  %v = load i32, ptr %m
  store i32 %v, ptr addrspace(1) %out
  ret void
}
define ptx_kernel void @clus() "nvvm.cluster_dim"="2,1,1" "nvvm.maxclusterrank"="8" "nvvm.reqntid"="64,1,1" { ret void }
define ptx_kernel void @grid(ptr byval({i32, i32, i64}) align 8 "nvvm.grid_constant" %p, ptr addrspace(1) %o) { %v = load i32, ptr %p store i32 %v, ptr addrspace(1) %o ret void }
define ptx_kernel void @stops(ptr addrspace(1) %o, i32 %n) {
  %c = icmp slt i32 %n, 0
  br i1 %c, label %bad, label %ok
bad:
  call void @llvm.trap()
  unreachable
ok:
  call void @llvm.debugtrap()
  ret void
}
@al = alias i32 (i32), ptr @f1
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare ptr @llvm.stacksave.p0()
declare void @llvm.stackrestore.p0(ptr)
declare void @llvm.trap()
declare void @llvm.debugtrap()
