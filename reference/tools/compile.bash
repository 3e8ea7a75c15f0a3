# Sourced by the labs' tools.

# compile_with_nvcc OUTPUT [nvcc's flags and sources ...]: as one call of nvcc, but each source by itself and through ccache, where
# that is installed. Most of a bench's time without a GPU is its compilation.
compile_with_nvcc() {
  local output=$1 flags=() compiling=() sources=() objects=() source
  shift
  while (($#)); do
    case $1 in
      *.cu | *.cpp) sources+=("$1") ;;
      -Xlinker) flags+=("$1" "$2"); shift ;;
      -shared | -l*) flags+=("$1") ;;
      *) flags+=("$1"); compiling+=("$1") ;;
    esac
    shift
  done
  if ! command -v ccache >/dev/null; then
    nvcc "${flags[@]}" "${sources[@]}" -o "$output"
    return
  fi
  for source in "${sources[@]}"; do
    objects+=("$output.${#objects[@]}.o")
    ccache nvcc "${compiling[@]}" -c "$source" -o "${objects[-1]}" || return
  done
  nvcc "${flags[@]}" "${objects[@]}" -o "$output" && rm "${objects[@]}"
}
