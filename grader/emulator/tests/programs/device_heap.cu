// malloc, free, new and delete in kernels: lists, trees of blocks, exhaustion, blocks that outlive a launch.
#include "check.h"

struct Node {
  int value;
  Node* next;
};

// A list of i % 7 nodes, built and torn down by one thread.
__host__ __device__ int sum_of_list(int i) {
  Node* head = nullptr;
  for (int k = 0; k < i % 7; ++k) {
    Node* node = new Node{i + k, head};
    head = node;
  }
  int sum = 0;
  while (head != nullptr) {
    Node* next = head->next;
    sum += head->value;
    delete head;
    head = next;
  }
  return sum;
}

__host__ __device__ int sum_of_array(int i) {
  const int n = i % 50 + 1;
  int* squares = static_cast<int*>(malloc(n * sizeof(int)));
  for (int k = 0; k < n; ++k) squares[k] = k * k + i;
  int sum = 0;
  for (int k = 0; k < n; ++k) sum += squares[n - 1 - k] * (k + 1);
  free(squares);
  return sum;
}

__global__ void build(Node** lists, int length) {
  Node* head = nullptr;
  for (int k = 0; k < length; ++k) head = new Node{int(threadIdx.x) * 1000 + k, head};
  lists[threadIdx.x] = head;
}
// Each thread reads and frees its neighbour's list.
__global__ void take_down(Node** lists, int* sums) {
  Node* node = lists[threadIdx.x ^ 1];
  int sum = 0;
  while (node != nullptr) {
    Node* next = node->next;
    sum += node->value;
    delete node;
    node = next;
  }
  sums[threadIdx.x] = sum;
}

__global__ void exhaust(int* granted, char** kept, size_t bytes) {
  kept[threadIdx.x] = static_cast<char*>(malloc(bytes));
  granted[threadIdx.x] = kept[threadIdx.x] != nullptr;
  __syncthreads();
  free(kept[threadIdx.x]);
}

__global__ void allocate_often(int* failures, int times) {
  for (int k = 0; k < times; ++k) {
    char* block = new char[1 + (k * 37 + threadIdx.x) % 3000];
    if (block == nullptr) {
      atomicAdd(failures, 1);
    } else {
      block[0] = 1;
      delete[] block;
    }
  }
}

void lists_outlive_a_launch() {
  Managed<Node*> lists(64);
  Managed<int> sums(64);
  build<<<1, 64>>>(lists.data, 10);
  take_down<<<1, 64>>>(lists.data, sums.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  for (int t = 0; t < 64; ++t) expect(sums[t] == (t ^ 1) * 10000 + 45, "blocks outlive their launch");
}

void the_heap_ends_at_its_limit(size_t limit) {
  Managed<int> granted(32), failures(1);
  Managed<char*> kept(32);
  for (int time = 0; time < 2; ++time) {
    exhaust<<<1, 32>>>(granted.data, kept.data, limit / 8);
    CHECK_CUDA(cudaDeviceSynchronize());
    int blocks = 0;
    for (int t = 0; t < 32; ++t) blocks += granted[t];
    expect(blocks >= 5 && blocks <= 8,
           "an exhausted heap gives null, and all of it after the blocks are freed");
  }
  allocate_often<<<2, 32>>>(failures.data, 400);
  CHECK_CUDA(cudaDeviceSynchronize());
  expect(failures[0] == 0, "freed blocks are used again");
}

int main() {
  constexpr size_t kLimit = 8 << 20;  // an H200 rounds smaller ones up
  size_t bytes = 0;
  CHECK_CUDA(cudaDeviceSetLimit(cudaLimitMallocHeapSize, kLimit));
  CHECK_CUDA(cudaDeviceGetLimit(&bytes, cudaLimitMallocHeapSize));
  expect(bytes >= kLimit, "the heap's limit can be set");
  compare_both<int>(
      "lists of new nodes", BOTH(int i) { return sum_of_list(i); });
  compare_both<int>(
      "arrays of malloc", BOTH(int i) { return sum_of_array(i); });
  lists_outlive_a_launch();
  the_heap_ends_at_its_limit(kLimit);
  expect(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 2 * kLimit) == cudaErrorInvalidValue,
         "the limit stands once a kernel has allocated");
  return g_failures;
}
