# For `source`, from the repository's root: goes on in a copy of it, kept under the target
# folder $1, in which no code of ours or of the crates compared with it uses AVX-512, and prints
# the other packages not to either.
copy=$1/avx2
mkdir -p "$copy"
git ls-files -z | xargs -0 cp --parents --preserve=timestamps -t "$copy"
cd "$copy"
# `pulp` for ours, `gemm` beside it.
sed -i '/^\(pulp\|gemm\) = /s/, "x86-v4"\|"x86-v4"//' Cargo.toml bench/products/Cargo.toml
if grep x86-v4 Cargo.toml bench/products/Cargo.toml; then
    exit 1
fi
export BENCH_AVX2=1 OPENBLAS_CORETYPE=Haswell ATEN_CPU_CAPABILITY=avx2
export ONEDNN_MAX_CPU_ISA=AVX2 DNNL_MAX_CPU_ISA=AVX2
export OPENCV_CPU_DISABLE=AVX512-SKX,AVX512-COMMON,AVX512-CNL,AVX512-CLX,AVX512-ICL
export BENCH_KEEP="${BENCH_KEEP-} OPENBLAS_CORETYPE ATEN_CPU_CAPABILITY ONEDNN_MAX_CPU_ISA DNNL_MAX_CPU_ISA
    OPENCV_CPU_DISABLE NPY_DISABLE_CPU_FEATURES"
export NPY_DISABLE_CPU_FEATURES="AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL"
