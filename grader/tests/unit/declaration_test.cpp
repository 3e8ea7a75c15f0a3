#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <sstream>

#include "base/error.h"
#include "base/files.h"
#include "judge/declaration/contract.h"
#include "judge/declaration/lab_declaration.h"
#include "judge/declaration/signature.h"

namespace warpgrade::declaration {
namespace {

namespace fs = std::filesystem;

Values values(std::map<std::string, std::int64_t> numbers) {
  Values given;
  for (const auto& [name, number] : numbers) given[name] = Value::of(number);
  return given;
}

TEST(Expression, CountsAsCDoesAndRoundsDown) {
  const Values v = values({{"n", 100}, {"k", 7}});
  EXPECT_EQ(Expression("n + 2 * k").whole(v), 114);
  EXPECT_EQ(Expression("(n + 2) * k").whole(v), 714);
  EXPECT_EQ(Expression("n / k").whole(v), 14);
  EXPECT_EQ(Expression("-n / k").whole(v), -15);
  EXPECT_EQ(Expression("-n % k").whole(v), 5);
  EXPECT_EQ(Expression("ceil_div(n, k)").whole(v), 15);
  EXPECT_EQ(Expression("max(n, k) - min(n, k) + pow(2, k) + sqrt(n) + log2(n)").whole(v), 93 + 128 + 10 + 6);
  EXPECT_DOUBLE_EQ(Expression("n / k").real(v), 100.0 / 7);
  EXPECT_EQ(Expression("1e6").whole(v), 1000000);
}

ArrayDeclaration drawn_as(const std::string& name, const std::string& extent, CsrPart part) {
  ArrayDeclaration array;
  array.name = name;
  array.shape = {Expression(extent)};
  array.draws.resize(1);
  array.draws.front().kind = DrawKind::kCsr;
  array.draws.front().part = part;
  return array;
}

TEST(CaseOnGraph, HasTheParametersThatMakeTheShapesFit) {
  LabDeclaration lab;
  for (const char* name : {"n", "entries", "k"}) {
    lab.parameters.emplace_back();
    lab.parameters.back().name = name;
  }
  EXPECT_EQ(case_on_graph(lab, "web", 40, 120), "");  // nothing is drawn from a graph
  lab.arrays = {drawn_as("offsets", "n + 1", CsrPart::kRowOffsets),
                drawn_as("columns", "entries", CsrPart::kColumns)};
  lab.cases.emplace_back();
  lab.cases.front().parameters = values({{"n", 1}, {"entries", 2}, {"k", 32}});
  EXPECT_EQ(case_on_graph(lab, "web", 40, 120), "graph: web, n: 40, entries: 120, k: 32");
  lab.arrays.push_back(drawn_as("rows", "2 * n", CsrPart::kRows));
  EXPECT_EQ(case_on_graph(lab, "web", 40, 120), "");
  EXPECT_EQ(case_on_graph(lab, "web", 60, 120), "graph: web, n: 60, entries: 120, k: 32");
}

// Against the same sums in 128 bits: what fits 64 is right, what does not is refused.
TEST(Expression, NeverOverflowsWithoutSayingSo) {
  std::mt19937_64 random(20261122);
  for (int round = 0; round < 2000; ++round) {
    const auto pick = [&] { return static_cast<std::int64_t>(random()) >> (random() % 60); };
    const std::int64_t a = pick(), b = pick();
    const Values v = values({{"a", a}, {"b", b}});
    for (const char op : {'+', '-', '*'}) {
      const __int128 want = op == '+' ? __int128{a} + b : op == '-' ? __int128{a} - b : __int128{a} * b;
      const std::string text = std::string("a ") + op + " b";
      if (want == static_cast<std::int64_t>(want))
        EXPECT_EQ(Expression(text).whole(v), static_cast<std::int64_t>(want)) << a << op << b;
      else
        EXPECT_THROW(Expression(text).whole(v), std::domain_error) << a << op << b;
    }
  }
}

// Both were undefined: the rest by way of a product, the quotient by way of -a.
TEST(Expression, DividesNumbersAtTheEdgeOf64Bits) {
  const auto least = std::numeric_limits<std::int64_t>::min();
  const auto most = std::numeric_limits<std::int64_t>::max();
  const auto result = [](const char* text, std::int64_t a, std::int64_t b) {
    return Expression(text).whole({{"a", Value::of(a)}, {"b", Value::of(b)}});
  };
  EXPECT_EQ(result("a % b", 63, least), 63 + least);
  EXPECT_EQ(result("a % b", least, most), most - 1);
  EXPECT_EQ(result("a % b", least, -1), 0);
  EXPECT_EQ(result("ceil_div(a, b)", least, -2), most / 2 + 1);
  EXPECT_EQ(result("ceil_div(a, b)", least, 3), least / 3);
  EXPECT_EQ(result("ceil_div(a, b)", 7, -2), -3);
  EXPECT_EQ(result("ceil_div(a, b)", -7, -2), 4);
  EXPECT_THROW(result("ceil_div(a, b)", least, -1), std::domain_error);
  EXPECT_THROW(result("a % b", 1, 0), std::domain_error);
}

TEST(Expression, SaysWhereItIsWrong) {
  const auto message_of = [](const std::string& text) -> std::string {
    try {
      const Expression parsed(text);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "nothing";
  };
  EXPECT_EQ(message_of("n + "), "expected a number, a parameter or '(' (column 5 of 'n + ')");
  EXPECT_EQ(message_of("n ! 2"), "'!' does not belong here (column 3 of 'n ! 2')");
  EXPECT_NE(message_of("cel_div(n, 2)").find("did you mean ceil_div?"), std::string::npos);
  EXPECT_NE(message_of("min(n)").find("expected min(a, b)"), std::string::npos);
  EXPECT_NE(message_of(std::string(1000, '(')), "nothing");
  EXPECT_THROW(Expression("n / (n - n)").whole(values({{"n", 1}})), std::domain_error);
}

TEST(ElementType, WhatAKernelKnowsOfATypeIsWhatTheHostKnows) {
  for (const Scalar type : all_scalars()) {
    EXPECT_EQ(bytes_of(type), facts(type).bytes) << facts(type).name;
    EXPECT_EQ(is_floating(type), facts(type).is_float) << facts(type).name;
  }
}

TEST(ElementType, SixteenBitFormatsComeBackAsTheyWere) {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    if (!std::isnan(half_value(half))) {
      ASSERT_EQ(half_bits(half_value(half)), half);
    }
    if (!std::isnan(bfloat_value(half))) {
      ASSERT_EQ(bfloat_bits(bfloat_value(half)), half);
    }
  }
}

TEST(ElementType, SixteenBitFormatsRoundToTheNearest) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 20000; ++round) {
    const double value =
        std::ldexp(static_cast<double>(static_cast<std::int64_t>(random())), -63 - int(random() % 30));
    const std::uint16_t bits = half_bits(value);
    const double error = std::fabs(half_value(bits) - value);
    for (const int step : {-1, 1}) {
      const auto neighbour = static_cast<std::uint16_t>(bits + step);
      if (((neighbour ^ bits) & 0x8000) == 0) {
        EXPECT_LE(error, std::fabs(half_value(neighbour) - value)) << value;
      }
    }
  }
  EXPECT_TRUE(std::isinf(half_value(half_bits(65520))));
  EXPECT_EQ(half_value(half_bits(65519)), 65504);
  EXPECT_EQ(half_bits(1 + 0x1p-11), half_bits(1));  // a tie, to even
}

TEST(ElementType, StructuresLieAsCLaysThemOut) {
  struct Particle {
    float x;
    double mass;
    signed char charge;
    short cell;
  };
  const ElementType type = structure_of("Particle", {{"x", Scalar::kFp32, 0},
                                                     {"mass", Scalar::kFp64, 0},
                                                     {"charge", Scalar::kInt8, 0},
                                                     {"cell", Scalar::kInt16, 0}});
  EXPECT_EQ(type.bytes, sizeof(Particle));
  EXPECT_EQ(type.fields[1].offset, offsetof(Particle, mass));
  EXPECT_EQ(type.fields[3].offset, offsetof(Particle, cell));
}

TEST(Signature, IsTakenApart) {
  const Signature signature =
      parse_signature("cudaError_t f_run( const  int *in,unsigned int n, cudaStream_t stream)");
  EXPECT_EQ(signature.function, "f_run");
  ASSERT_EQ(signature.arguments.size(), 3u);
  EXPECT_EQ(signature.arguments[0].type, "const int*");
  EXPECT_EQ(signature.arguments[1].type, "unsigned int");
  for (const char* text :
       {"f_run", "cudaError_t f_run(int", "cudaError_t f_run(int n", "void (*f)(int n)", "int f(int)"})
    EXPECT_THROW(parse_signature(text), std::invalid_argument) << text;
}

constexpr const char* kLab = R"yaml(schema: warpgrade.lab.v1
name: scan
summary: running sums
parameters: {n: int}
arrays:
  in: {type: int32, shape: [n], draw: {uniform: [0, 1000]}}
  out: {type: int32, shape: [n], role: output}
call: "cudaError_t scan_run(const int* in, int n, int* out, ScanPlan* plan, cudaStream_t stream)"
truth: oracle.py
check: exact
work: {bytes: 8*n}
cases:
  - {id: one, n: 1, why: one number}
  - {id: million, n: 1000000, kind: speed}
)yaml";

class LabFile : public testing::Test {
 protected:
  void SetUp() override {
    make_directories(file_.parent_path());
    write_text(file_.parent_path() / "oracle.py", "");
  }
  // What is said of the file with `from` replaced.
  std::string message_of(const std::string& from, const std::string& to) const {
    std::string text = kLab;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    try {
      parse_lab(text, file_);
      return "nothing";
    } catch (const UsageError& error) {
      const std::string words = error.what();
      return words.substr(words.find("lab.yaml"));
    }
  }

  TemporaryDirectory scratch_{"lab-file"};
  fs::path file_ = scratch_.path() / "scan/lab.yaml";
};

TEST_F(LabFile, IsRead) {
  const LabDeclaration lab = parse_lab(kLab, file_);
  EXPECT_EQ(lab.plan_type, "ScanPlan");
  ASSERT_EQ(lab.cases.size(), 2u);
  EXPECT_EQ(lab.cases[0].set, "public");
  EXPECT_EQ(lab.cases[1].set, "timed");
  EXPECT_EQ(shape_in(*lab.array("in"), lab.cases[1].parameters), std::vector<std::int64_t>{1000000});
  EXPECT_EQ(lab.arrays[0].draws[0].whole_high, 1000);
}

TEST_F(LabFile, HasACaseForEachNumberOfAList) {
  std::string text = kLab;
  const std::size_t at = text.find("n: 1,");
  text.replace(at, 5, "n: [3, 700],");
  const LabDeclaration lab = parse_lab(text, file_);
  ASSERT_EQ(lab.cases.size(), 3u);
  EXPECT_EQ(lab.cases[0].id, "one-3");
  EXPECT_EQ(lab.cases[1].id, "one-700");
  EXPECT_EQ(lab.cases[1].parameters.at("n").whole, 700);
  EXPECT_EQ(lab.cases[1].why, lab.cases[0].why);
  EXPECT_EQ(message_of("n: 1,", "n: [],"),
            "lab.yaml:13: cases[0].n: expected a list of numbers, a case each, got a list");
  EXPECT_EQ(message_of("n: 1,", "n: [4, 4],"), "lab.yaml:13: cases[0].id: another case has this id");
  EXPECT_NE(message_of("n: 1,", "n: [4, many],").find("lab.yaml:13: cases[0].n: expected a whole number"),
            std::string::npos);
}

TEST_F(LabFile, TellsWhatIsWrongWithFilesAndGraphs) {
  // An array of two int32, as numpy.save writes it.
  std::string header = "{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }";
  header.resize(117, ' ');
  write_text(file_.parent_path() / "two.npy",
             std::string("\x93NUMPY\x01\x00v\x00", 10) + header + "\n" + std::string(8, 'x'));
  const std::string draw = "draw: {uniform: [0, 1000]}";
  EXPECT_EQ(message_of(draw, "draw: {npy: one.npy}").substr(0, 30), "lab.yaml:6: arrays.in.draw.npy");
  EXPECT_NE(
      message_of(draw, "draw: {npy: two.npy}").find("it holds 2 of <i4, and in is 1 of <i4 in case one"),
      std::string::npos);
  EXPECT_EQ(message_of(draw, "draw: {csr: cols}").substr(0, 64),
            "lab.yaml:6: arrays.in.draw.csr: expected columns or row_offsets ");
  EXPECT_EQ(message_of(draw, "draw: {csr: columns}"),
            "lab.yaml:13: cases[0].graph: expected a dataset (`warpgrade data list`), since in is drawn from "
            "it, got nothing");
  EXPECT_EQ(
      message_of("id: one,", "id: one, graph: cora,"),
      "lab.yaml:13: cases[0].graph: no array of this case is drawn from a graph (`draw: {csr: columns}`)");
  EXPECT_EQ(message_of("truth: oracle.py", "truth: oracle.c").substr(0, 84),
            "lab.yaml:9: truth: expected a file of the lab's folder that ends in .cpp or .py, got");
}

TEST_F(LabFile, TellsWhatIsWrongWithHardInputs) {
  const auto hard = [&](const std::string& text) {
    return message_of("check: exact", "check: exact\nhard: " + text);
  };
  EXPECT_EQ(hard("[{id: low, draw: {in: {constant: 0}}, why: zeros}]"), "nothing");
  EXPECT_EQ(hard("[{id: low, draw: {im: {constant: 0}}, why: zeros}]"),
            "lab.yaml:11: hard[0].draw.im: expected the name of an array that is drawn (did you mean in?)");
  EXPECT_EQ(hard("[{id: low, draw: {out: {constant: 0}}, why: zeros}]").substr(0, 64),
            "lab.yaml:11: hard[0].draw.out: expected the name of an array tha");
  EXPECT_EQ(hard("[{id: low, draw: {in: {csr: columns}}, why: zeros}]"),
            "lab.yaml:11: hard[0].draw.in: expected a way of drawing: a file or a graph is the same in every "
            "run");
  EXPECT_EQ(
      hard("[{id: low, why: zeros}]"),
      "lab.yaml:11: hard[0].draw: expected how an array is drawn, for instance {in: {constant: 5}}, got "
      "nothing");
  EXPECT_EQ(hard("[{id: low, draw: {in: {constant: 0}}, why: a}, {id: low, draw: {in: {constant: 1}}, why: "
                 "b}]"),
            "lab.yaml:11: hard[1].id: other hard inputs have this id");
}

TEST_F(LabFile, TellsEveryMistakeWithItsPlace) {
  EXPECT_EQ(message_of("summary:", "sumary:"), "lab.yaml:3: unknown key sumary (did you mean summary?)");
  EXPECT_EQ(message_of("type: int32, shape: [n], draw", "type: int23, shape: [n], draw").substr(0, 40),
            "lab.yaml:6: arrays.in.type: expected bf1");
  EXPECT_NE(
      message_of("type: int32, shape: [n], draw", "type: int23, shape: [n], draw").find("did you mean int"),
      std::string::npos);
  EXPECT_EQ(message_of("shape: [n], draw", "shape: [m], draw"),
            "lab.yaml:6: arrays.in.shape[0]: no parameter m in 'm' (did you mean n?)");
  EXPECT_EQ(message_of("draw: {uniform: [0, 1000]}", "role: input"),
            "lab.yaml:6: arrays.in.draw: expected how the numbers are drawn, for instance {uniform: [0, "
            "1000]}, got nothing");
  EXPECT_EQ(
      message_of("[0, 1000]", "[1000, 0]"),
      "lab.yaml:6: arrays.in.draw.uniform[1]: expected a whole number from 1000 to 2147483647, got '0'");
  EXPECT_EQ(message_of("check: exact", "check: {ulps: 1, rms: 1}"),
            "lab.yaml:10: check.rms: it stands beside bound");
  EXPECT_EQ(message_of("[0, 1000]}", "[0, 1000], thin_rows: 1}"),
            "lab.yaml:6: arrays.in.draw.thin_rows: expected a whole number from 2 to 1048576, got '1'");
  EXPECT_EQ(message_of("{uniform: [0, 1000]}", "{thin_rows: 4}"),
            "lab.yaml:6: arrays.in.draw: expected one way of drawing, for instance {uniform: [0, "
            "1000]}, got a map");
  EXPECT_EQ(message_of("{uniform: [0, 1000]}", "{sorted: [0, 1000], thin_rows: 4}"),
            "lab.yaml:6: arrays.in.draw.thin_rows: it stands beside uniform, normal or integers");
  EXPECT_EQ(message_of("const int* in", "const float* in"),
            "lab.yaml:8: call: in: expected the type const int*, got const float*");
  EXPECT_EQ(message_of("const int* in", "int* in"),
            "lab.yaml:8: call: in: expected the type const int*, got int*");
  EXPECT_EQ(message_of("scan_run", "scan"),
            "lab.yaml:8: call: expected scan_run as the function's name, got scan");
  EXPECT_EQ(message_of("int* out, ScanPlan", "int* ot, ScanPlan"),
            "lab.yaml:8: call: ot is no array, parameter or scalar of this lab (did you mean out?)");
  EXPECT_EQ(message_of(", int* out", ""), "lab.yaml:8: call: the array out is no argument of it");
  EXPECT_NE(message_of("oracle.py", "orakel.py").find("orakel.py is not there"), std::string::npos);
  EXPECT_EQ(message_of("check: exact", "check: {ulps: 2}"),
            "lab.yaml:10: check: expected exact: out holds whole numbers, got a map");
  EXPECT_EQ(message_of("id: million", "id: one"), "lab.yaml:14: cases[1].id: another case has this id");
  EXPECT_EQ(message_of("n: 1,", "n: -1,"),
            "lab.yaml:13: cases[0]: the shape of in cannot be computed in case one: n is -1");
  EXPECT_EQ(message_of("work: {bytes: 8*n}", ""),
            "lab.yaml:1: work.bytes: expected the bytes that no program can do without moving, since there "
            "are speed cases, got nothing");
  EXPECT_EQ(message_of("name: scan", "name: skan").substr(0, 63),
            "lab.yaml:2: name: expected the folder's name, scan, got 'skan'");
  EXPECT_EQ(message_of("parameters: {n: int}", "parameters: {n: int, n: int}"),
            "lab.yaml:4: parameters.n: this key occurs twice");
  EXPECT_NE(message_of("shape: [n], draw", "shape: n], draw").find("not YAML"), std::string::npos);
}

// Texts become comments of C++, names, and lines of terminals and tables.
TEST_F(LabFile, TakesOneLineOfTextWhereverItTakesText) {
  const auto about = [&](const std::string& text) {
    return message_of("shape: [n], draw", "about: " + text + ", shape: [n], draw");
  };
  const std::string no_break =
      "lab.yaml:6: arrays.in.about: expected one line of text (behind `>`, YAML joins lines), "
      "got ";
  EXPECT_EQ(about(R"("sums\nint evil = system(\"id\");")"), no_break + "'sums int evil = system(\"id\");'");
  EXPECT_EQ(about(R"("a\rb")"), no_break + "'a\ufffdb'");
  for (const char* letter : {"\\u202e", "\\u2028", "\\u0085", "\\x1b", "\\t", "\\0", "\\uFFFE"})
    EXPECT_NE(about(std::string("\"a") + letter + "b\"").find("expected text without control characters"),
              std::string::npos)
        << letter;
  EXPECT_EQ(message_of("summary: running sums", "summary: >\n  running\n  sums"), "nothing")
      << "folded by YAML";
  EXPECT_NE(message_of("summary: running sums", "summary: |\n  running\n  sums").find("one line of text"),
            std::string::npos);
  EXPECT_NE(message_of("why: one number", R"(why: "one\nnumber")").find("one line of text"),
            std::string::npos);
}

// A backslash at a line's end would make the next line, which is code, a part of the comment.
TEST_F(LabFile, WhatItSaysOfAnArrayNeverBecomesCode) {
  for (const char* text : {R"('sums \')", R"('sums ??/')", R"('*/ int evil; /*')", R"('sums \ ')"}) {
    std::string lab = kLab;
    const std::string from = "shape: [n], draw", summary = "running sums";
    lab.replace(lab.find(from), from.size(), std::string("about: ") + text + ", " + from);
    lab.replace(lab.find(summary), summary.size(), text);
    const LabDeclaration read = parse_lab(lab, file_);
    for (const std::string& made : {contract_header(read), student_stub(read), runner_source(read)}) {
      std::istringstream lines(made);
      for (std::string line; std::getline(lines, line);) {
        EXPECT_FALSE(line.ends_with('\\') || line.ends_with("?\?/")) << line;
        if (line.find("sums") != std::string::npos || line.find("evil") != std::string::npos) {
          EXPECT_TRUE(line.starts_with("//")) << line;
        }
      }
    }
  }
}

TEST_F(LabFile, NamesFoldersAndFilesBelowItsOwnAlone) {
  const auto folder = [&](const std::string& path) {
    return message_of("cases:", "baselines: [{name: fast, folder: " + path + "}]\ncases:");
  };
  fs::create_directory_symlink("/etc", file_.parent_path() / "out");
  fs::create_directories(file_.parent_path() / "vendor/fast");
  fs::create_directory_symlink("vendor", file_.parent_path() / "within");
  for (const char* path : {"vendor/fast", "naive", "within/fast", "not/yet/there"})
    EXPECT_EQ(folder(path), "nothing") << path;
  const std::string expected =
      "lab.yaml:12: baselines[0].folder: expected a path below the lab's folder, without "
      "'..' and '/' in front, got ";
  for (const char* path : {"../../../../etc", "/etc", "vendor/../../x", "..", "."})
    EXPECT_EQ(folder(path), expected + "'" + path + "'");
  EXPECT_NE(folder("out/ssh").find("is a link that leads out of the lab's folder"), std::string::npos);
  EXPECT_NE(message_of("cases:", "baselines: [{name: ../x}]\ncases:").find("expected letters, digits"),
            std::string::npos);
  EXPECT_NE(message_of("cases:", "baselines: [{name: x, libraries: [\"m -Xlinker\"]}]\ncases:")
                .find("expected letters, digits"),
            std::string::npos);
  write_text(scratch_.path() / "secret.py", "");
  fs::create_symlink(scratch_.path() / "secret.py", file_.parent_path() / "linked.py");
  EXPECT_NE(message_of("oracle.py", "linked.py").find("is a link that leads out"), std::string::npos);
  EXPECT_NE(message_of("id: one,", "id: one, graph: ../x,").find("expected the name of a dataset"),
            std::string::npos);
}

TEST_F(LabFile, RepeatsLittleOfWhatIsLong) {
  const std::string endless(100'000, 'n'), sum = [] {
    std::string text = "n";
    for (int i = 0; i < 50'000; ++i) text += "+1";
    return text;
  }();
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"bytes: 8*n", "bytes: " + endless},
           {"bytes: 8*n", "bytes: " + sum},
           {"bytes: 8*n", "bytes: n * (" + endless.substr(0, 1500) + " !)"},
           {"type: int32, shape: [n], draw", "type: " + endless + ", shape: [n], draw"},
           {"summary:", endless + ":"},
           {"id: one,", "id: " + endless + ","},
           {"parameters: {n: int}", "parameters: {" + endless + ": int}"},
           {"call: \"", "call: \"" + endless}}) {
    const std::string said = message_of(from, to);
    EXPECT_NE(said, "nothing") << from;
    EXPECT_LT(said.size(), 900u) << from;
  }
  EXPECT_NE(message_of("bytes: 8*n", "bytes: " + sum).find("more than 2000 characters"), std::string::npos);
  EXPECT_NE(message_of("bytes: 8*n", "bytes: " + std::string(1500, '9') + "!").find("column"),
            std::string::npos);
}

// Whatever is cut out of the file: a mistake that is told, or a lab, and never anything else.
TEST_F(LabFile, IsReadOrRefusedWhateverIsCutOut) {
  std::mt19937 random(5);
  const std::string text = kLab;
  int read = 0, refused = 0;
  for (int round = 0; round < 300; ++round) {
    const std::size_t begin = random() % text.size(), length = 1 + random() % 20;
    std::string cut = text;
    cut.erase(begin, length);
    try {
      EXPECT_FALSE(parse_lab(cut, file_).cases.empty()) << "without " << begin << "+" << length;
      ++read;
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find("lab.yaml"), std::string::npos) << error.what();
      ++refused;
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what() << " without " << begin << "+" << length;
    }
  }
  EXPECT_GT(read, 0);
  EXPECT_GT(refused, 100);
}

TEST_F(LabFile, AScalarIsDrawnAsItSays) {
  std::string text = kLab;
  const std::size_t at = text.find("arrays:");
  text.insert(at,
              "scalars:\n  step: {type: int32, draw: {uniform: [3, 9]}}\n"
              "  share: {type: fp32, draw: {constant: 0.25}}\n");
  const std::size_t call = text.find("int n, ");
  ASSERT_NE(call, std::string::npos);
  text.insert(call, "int step, float share, ");
  const LabDeclaration lab = parse_lab(text, file_);
  ASSERT_EQ(lab.scalars.size(), 2u);
  EXPECT_EQ(lab.scalars[0].draw.whole_low, 3);
  EXPECT_EQ(lab.scalars[0].draw.whole_high, 9);
  EXPECT_EQ(lab.scalars[1].draw.kind, DrawKind::kConstant);
  EXPECT_EQ(lab.scalars[1].draw.low, 0.25);
}

TEST_F(LabFile, BecomesContractRunnerAndStub) {
  const LabDeclaration lab = parse_lab(kLab, file_);
  const std::string header = contract_header(lab), runner = runner_source(lab), stub = student_stub(lab);
  EXPECT_NE(header.find("cudaError_t scan_plan(int n, ScanPlan** plan, cudaStream_t stream);"),
            std::string::npos);
  EXPECT_NE(header.find(
                "cudaError_t scan_run(const int* in, int n, int* out, ScanPlan* plan, cudaStream_t stream);"),
            std::string::npos);
  EXPECT_NE(runner.find("static_cast<const int*>(buffers.at(\"in\"))"), std::string::npos);
  EXPECT_NE(stub.find("return cudaErrorNotSupported;"), std::string::npos);
}

TEST_F(LabFile, PutsItsCasesIntoThePageOnceHoweverOften) {
  const LabDeclaration lab = parse_lab(kLab, file_);
  const std::string once = with_case_table("# Scan\n", lab);
  EXPECT_NE(once.find("| `one` | 1 | correctness | one number |"), std::string::npos);
  EXPECT_EQ(with_case_table(once, lab), once);
}

}  // namespace
}  // namespace warpgrade::declaration
