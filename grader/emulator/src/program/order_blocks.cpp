// Basic-block order. The scheduler always runs the lowest pc at which lanes stand, so the order decides where
// diverged lanes meet again: a block must come after the blocks that lead to it (but for back edges), and the
// exit of a loop after the whole body, or lanes that leave early would run ahead alone.
#include <algorithm>
#include <set>

#include "program/linear.h"

namespace warpgrade::emu {
namespace {

struct BasicBlock {
  uint32_t begin, end;
  std::vector<uint32_t> successors, predecessors;
  std::set<uint32_t> loops;  // headers of the loops that contain it
};

class BlockPlacing {
 public:
  explicit BlockPlacing(LinearFunction& function) : code_(function.code) {}

  void run() {
    split();
    const std::vector<uint32_t> plain = reverse_post_order(false);
    find_loops(plain);
    rewrite(reverse_post_order(true));
  }

 private:
  void split() {
    CodeBlocks found = find_blocks(code_);
    for (uint32_t b = 0; b < found.count(); ++b)
      blocks_.push_back({found.begins[b], found.begins[b + 1], {}, {}, {}});
    for (const auto& [from, to] : found.edges) {
      blocks_[from].successors.push_back(to);
      blocks_[to].predecessors.push_back(from);
    }
    block_of_ = std::move(found.block_of);
  }

  // Loops that both blocks are in.
  uint32_t common_loops(uint32_t x, uint32_t y) const {
    uint32_t n = 0;
    for (const uint32_t header : blocks_[x].loops) n += static_cast<uint32_t>(blocks_[y].loops.count(header));
    return n;
  }

  // With `exits_last`, successors that leave a loop are visited first, hence placed after the loop's body.
  std::vector<uint32_t> reverse_post_order(bool exits_last) const {
    std::vector<uint32_t> order;
    std::vector<bool> seen(blocks_.size(), false);
    struct Visit {
      uint32_t block;
      std::vector<uint32_t> successors;
      size_t next = 0;
    };
    std::vector<Visit> stack;
    const auto enter = [&](uint32_t b) {
      seen[b] = true;
      Visit visit{b, blocks_[b].successors};
      if (exits_last) {
        std::stable_sort(visit.successors.begin(), visit.successors.end(),
                         [&](uint32_t x, uint32_t y) { return common_loops(b, x) < common_loops(b, y); });
      }
      stack.push_back(std::move(visit));
    };
    enter(0);
    while (!stack.empty()) {
      Visit& top = stack.back();
      if (top.next < top.successors.size()) {
        const uint32_t s = top.successors[top.next++];
        if (!seen[s]) enter(s);
      } else {
        order.push_back(top.block);
        stack.pop_back();
      }
    }
    std::reverse(order.begin(), order.end());
    return order;
  }

  void find_dominators(const std::vector<uint32_t>& order) {
    constexpr uint32_t kNone = ~0u;
    number_.assign(blocks_.size(), kNone);
    for (uint32_t k = 0; k < order.size(); ++k) number_[order[k]] = k;
    dominator_.assign(blocks_.size(), kNone);
    dominator_[0] = 0;
    for (bool changed = true; changed;) {
      changed = false;
      for (const uint32_t b : order) {
        if (b == 0) continue;
        uint32_t d = kNone;
        for (const uint32_t p : blocks_[b].predecessors) {
          if (number_[p] == kNone || dominator_[p] == kNone) continue;
          d = d == kNone ? p : nearest_common_dominator(p, d);
        }
        if (d != dominator_[b]) {
          dominator_[b] = d;
          changed = true;
        }
      }
    }
  }

  uint32_t nearest_common_dominator(uint32_t x, uint32_t y) const {
    while (x != y) {
      while (number_[x] > number_[y]) x = dominator_[x];
      while (number_[y] > number_[x]) y = dominator_[y];
    }
    return x;
  }

  bool dominates(uint32_t a, uint32_t b) const {
    while (number_[b] > number_[a]) b = dominator_[b];  // a dominator has a lower number
    return a == b;
  }

  // Natural loops: the blocks that reach a back edge without passing its header.
  void find_loops(const std::vector<uint32_t>& order) {
    find_dominators(order);
    for (const uint32_t b : order) {
      for (const uint32_t header : blocks_[b].successors) {
        if (!dominates(header, b)) continue;
        blocks_[header].loops.insert(header);
        std::vector<uint32_t> work{b};
        while (!work.empty()) {
          const uint32_t x = work.back();
          work.pop_back();
          if (x != header && !blocks_[x].loops.insert(header).second) continue;
          if (x == header) continue;
          for (const uint32_t p : blocks_[x].predecessors) {
            if (number_[p] != ~0u) work.push_back(p);
          }
        }
      }
    }
  }

  void rewrite(const std::vector<uint32_t>& order) {
    std::vector<LinearInst> placed;
    std::vector<uint32_t> start(blocks_.size(), 0);
    for (size_t k = 0; k < order.size(); ++k) {
      const BasicBlock& block = blocks_[order[k]];
      start[order[k]] = static_cast<uint32_t>(placed.size());
      for (uint32_t i = block.begin; i < block.end; ++i) placed.push_back(std::move(code_[i]));
      const uint32_t next = order[k] + 1;
      const bool falls = placed.back().falls_through() && next < blocks_.size();
      if (falls && !(k + 1 < order.size() && order[k + 1] == next)) {
        LinearInst jump;
        jump.opcode = "bra";
        jump.parts.assign(1, "bra");
        jump.target = blocks_[next].begin;
        jump.location = placed.back().location;
        placed.push_back(std::move(jump));
      }
    }
    for (LinearInst& inst : placed) {
      if (inst.is("bra")) inst.target = start[block_of_[inst.target]];
      for (uint32_t& t : inst.targets) t = start[block_of_[t]];
    }
    code_ = std::move(placed);
  }

  std::vector<LinearInst>& code_;
  std::vector<BasicBlock> blocks_;
  std::vector<uint32_t> block_of_, number_, dominator_;
};

}  // namespace

CodeBlocks find_blocks(const std::vector<LinearInst>& code) {
  std::vector<bool> leads(code.size() + 1, false);
  leads[0] = true;
  for (uint32_t i = 0; i < code.size(); ++i) {
    if (code[i].is("bra")) leads[code[i].target] = true;
    for (const uint32_t t : code[i].targets) leads[t] = true;
    if (code[i].ends_block()) leads[i + 1] = true;
  }
  CodeBlocks found;
  for (uint32_t i = 0; i < code.size(); ++i) {
    if (leads[i]) found.begins.push_back(i);
    found.block_of.push_back(static_cast<uint32_t>(found.begins.size() - 1));
  }
  found.begins.push_back(static_cast<uint32_t>(code.size()));
  for (uint32_t b = 0; b < found.count(); ++b) {
    const LinearInst& last = code[found.begins[b + 1] - 1];
    if (last.is("bra")) found.edges.emplace_back(b, found.block_of[last.target]);
    for (const uint32_t t : last.targets) found.edges.emplace_back(b, found.block_of[t]);
    if (last.falls_through() && b + 1 < found.count()) found.edges.emplace_back(b, b + 1);
  }
  return found;
}

void order_blocks(LinearFunction& function) {
  BlockPlacing(function).run();
}

}  // namespace warpgrade::emu
