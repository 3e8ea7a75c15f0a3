// Names to files: the catalogue that ships, near matches, the cache, several processes at once.
#include "warpgrade/datasets/catalog.h"

#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <set>

#include "test_support.h"

namespace warpgrade::datasets {
namespace {

const Catalog& shipped() {
  static const Catalog catalog = Catalog::load(WARPGRADE_CATALOG);
  return catalog;
}

TEST(Catalog, NamesAndAliasesAreUnique) {
  std::set<std::string> names;
  for (const DatasetInfo& info : shipped().all()) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    for (const std::string& alias : info.aliases) EXPECT_TRUE(names.insert(alias).second) << alias;
  }
}

TEST(Catalog, LooksForGraphsBesideTheRepositoryHoweverItsOwnPathIsSpelt) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "repo/datasets/tests");
  write_file(folder / "repo/datasets/catalog.yaml", "datasets: {}\n");
  const auto plain = Catalog::load(folder / "repo/datasets/catalog.yaml").graph_folders();
  EXPECT_EQ(plain.back(), folder / "shared/graphs");
  EXPECT_EQ(Catalog::load(folder / "repo/datasets/tests/../catalog.yaml").graph_folders(), plain);
  EXPECT_EQ(Catalog::load(folder / "repo/datasets/./catalog.yaml").graph_folders(), plain);
}

TEST(Catalog, EveryEntryCanBeObtainedInOneWay) {
  for (const DatasetInfo& info : shipped().all()) {
    SCOPED_TRACE(info.name);
    EXPECT_TRUE(info.kind == "real" || info.kind == "stand-in" || info.kind == "synthetic") << info.kind;
    const int ways = (info.file.empty() ? 0 : 1) + (info.importer.empty() ? 0 : 1) + (info.powerlaw ? 1 : 0) +
                     (info.shape ? 1 : 0);
    EXPECT_EQ(ways, info.original && info.kind == "real" && info.file.empty() ? 0 : 1);
    if (info.kind != "synthetic" && info.importer.empty()) {
      EXPECT_FALSE(info.direction.empty());
      EXPECT_FALSE(info.features.empty());
      EXPECT_GT(info.n, 0);
      EXPECT_GT(info.nnz, 0);
    }
    if (info.original) {
      EXPECT_FALSE(info.original->page.empty());
      EXPECT_NE(info.original->urls.empty(), info.original->by_hand.empty());
    }
    EXPECT_FALSE(info.exercises.empty());
    if (info.kind != "synthetic") {
      EXPECT_FALSE(info.licence.empty());
    }
  }
}

// Nothing stands in the catalogue without a word on where it is from.
TEST(Catalog, SaysOfEveryFactWhereItWasCheckedOrThatItWasNot) {
  for (const DatasetInfo& info : shipped().all()) {
    if (info.kind == "synthetic" || info.name == "debian-packages") continue;
    std::set<std::string> stated = {"counts", "licence"};
    if (info.original) stated.insert("url");
    const auto says = [&](const std::string& fact) {
      return info.checked.contains(fact) ||
             std::find(info.unconfirmed.begin(), info.unconfirmed.end(), fact) != info.unconfirmed.end();
    };
    // Its longest row is a fact unless the catalogue says that it is assumed.
    const std::set<std::string> assumed(info.assumed.begin(), info.assumed.end());
    if (info.outline && !assumed.contains("max_degree")) stated.insert("max_degree");
    for (const std::string& fact : stated) EXPECT_TRUE(says(fact)) << info.name << ": " << fact;
    EXPECT_TRUE(info.checked.contains("counts")) << info.name;
    if (info.original) {
      EXPECT_TRUE(info.checked.contains("url")) << info.name;
    }
  }
}

TEST(Catalog, ThePublishedFileMayHoldAnotherNumberOfEntriesThanTheCourseCounts) {
  EXPECT_EQ(shipped().find("citation").nnz, 30561187);
  EXPECT_EQ(shipped().find("citation@original").nnz, 30387995);
  EXPECT_EQ(shipped().find("collab@original").nnz, 2358104);
}

TEST(Catalog, RefusesFactsAndSourcesThatItDoesNotKnow) {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& entry, const std::vector<std::string>& parts) {
    write_file(folder / "c.yaml", "sources: {page: a page}\ndatasets:\n  one: {kind: real, " + entry + "}\n");
    expect_error([&] { Catalog::load(folder / "c.yaml"); }, parts);
  };
  refused("checked: {size: page}", {"one", "checked", "counts, url", "'size'"});
  refused("checked: {counts: [page, pgae]}", {"one", "no source 'pgae'"});
  refused("checked: {counts: page}, unconfirmed: [counts]", {"one", "both"});
  refused("unconfirmed: [license]", {"one", "unconfirmed", "'license'"});
}

TEST(Catalog, HasTheThirteenGraphsAtTheirPublishedSizes) {
  const std::map<std::string, std::pair<int, std::int64_t>> published = {
      {"arxiv", {169343, 1166243}},
      {"collab", {235868, 2358104}},
      {"citation", {2927963, 30561187}},
      {"ddi", {4267, 2135822}},
      {"protein", {132534, 79122504}},
      {"ppa", {576289, 42463862}},
      {"reddit.dgl", {232965, 114615892}},
      {"products", {2449029, 123718280}},
      {"youtube", {1138499, 5980886}},
      {"amazon_cogdl", {1569960, 264339468}},
      {"yelp", {716847, 13954819}},
      {"wikikg2", {2500604, 16109182}},
      {"am", {881680, 5668682}}};
  for (const auto& [name, size] : published) {
    const DatasetInfo info = shipped().find(name);
    ASSERT_TRUE(info.powerlaw.has_value()) << name;
    EXPECT_EQ(info.powerlaw->n, size.first) << name;
    EXPECT_EQ(info.powerlaw->nnz, size.second) << name;
  }
}

TEST(Catalog, FindsByAlias) {
  EXPECT_EQ(shipped().find("ogbn-arxiv").name, "arxiv");
  EXPECT_EQ(shipped().find("ogbn-arxiv@0.01").name, "arxiv@0.01");
  EXPECT_EQ(shipped().find("reddit@original").name, "reddit.dgl@original");
}

TEST(Catalog, TellsStandInsFromTheirOriginals) {
  const DatasetInfo original = shipped().find("arxiv@original");
  EXPECT_EQ(original.kind, "real");
  EXPECT_EQ(original.n, 169343);
  EXPECT_FALSE(original.powerlaw.has_value());
  EXPECT_EQ(shipped().find("com-dblp@original").name, "com-dblp");
  expect_error([] { shipped().find("synth-hub@original"); }, {"has no original"});
  const TemporaryFolder folder;
  expect_error([&] { shipped().ensure("arxiv@original", folder.path()); },
               {"arxiv@original is not on this machine", "data fetch arxiv@original", "arxiv.zip"});
  expect_error([&] { shipped().ensure("am@original", folder.path()); },
               {"dgl.data.AMDataset", "data import FILE --name am@original"});
}

TEST(Catalog, SuggestsANearName) {
  expect_error([] { shipped().find("arxvi"); }, {"no dataset 'arxvi'", "did you mean arxiv?", "data list"});
  expect_error([] { shipped().find("nothing-like-it"); }, {"no dataset 'nothing-like-it'", "data list"});
}

TEST(Catalog, ScalesStandIns) {
  const DatasetInfo info = shipped().find("arxiv@0.01");
  EXPECT_EQ(info.name, "arxiv@0.01");
  EXPECT_EQ(info.powerlaw->n, 1693);
  EXPECT_EQ(info.powerlaw->nnz, 11662);
}

TEST(Catalog, ScaledDenseGraphsStayPossible) {
  const TemporaryFolder folder;
  for (const char* name : {"ddi@0.01", "protein@0.001", "arxiv@0.00001"}) {
    SCOPED_TRACE(name);
    const CsrFile file = CsrFile::open(shipped().ensure(name, folder.path()));
    EXPECT_LE(file.nnz(), std::int64_t{file.rows()} * file.cols());
    EXPECT_NO_THROW(file.verify());
  }
}

TEST(Catalog, RefusesScalesThatMakeNoSense) {
  for (const char* name : {"arxiv@", "arxiv@0", "arxiv@-1", "arxiv@2", "arxiv@nan", "arxiv@0.1x"}) {
    expect_error([&] { shipped().find(name); }, {name, "arxiv@0.01"});
  }
  expect_error([] { shipped().find("cora@0.5"); }, {"only stand-ins have scales"});
}

TEST(Catalog, NamesFileAndEntryOfAMistake) {
  const TemporaryFolder folder;
  write_file(folder / "c.yaml",
             "datasets:\n  good: {kind: real, file: a.mtx}\n  bad: {kind: stand-in, n: many}\n");
  expect_error([&] { Catalog::load(folder / "c.yaml"); }, {"c.yaml:3:", "bad"});
  expect_error([&] { Catalog::load(folder / "absent.yaml"); }, {"absent.yaml"});
}

TEST(Ensure, MakesEachSyntheticDatasetOnce) {
  const TemporaryFolder folder;
  for (const DatasetInfo& info : shipped().all()) {
    if (info.kind != "synthetic") continue;
    SCOPED_TRACE(info.name);
    const auto path = shipped().ensure(info.name, folder.path());
    const CsrFile file = CsrFile::open(path);
    EXPECT_NO_THROW(file.verify());
    EXPECT_EQ(file.origin().name, info.name);
    EXPECT_EQ(file.origin().generator, kGeneratorVersion);
    const auto made = std::filesystem::last_write_time(path);
    EXPECT_EQ(shipped().ensure(info.name, folder.path()), path);
    EXPECT_EQ(std::filesystem::last_write_time(path), made) << "was made twice";
  }
}

TEST(Ensure, MakesFoldersThatAreNotThere) {
  const TemporaryFolder folder;
  EXPECT_TRUE(std::filesystem::exists(shipped().ensure("synth-identity", folder / "a/b/c")));
}

TEST(Ensure, SaysWhatToDoWhenAGraphIsNotHere) {
  const TemporaryFolder folder;
  write_file(folder / "c.yaml", "datasets:\n  absent: {kind: real, file: absent.mtx.gz}\n");
  expect_error([&] { Catalog::load(folder / "c.yaml").ensure("absent", folder / "cache"); },
               {"absent", "absent.mtx.gz", "WARPGRADE_GRAPHS"});
}

TEST(Ensure, ImportsFromTheFolderOfTheEnvironment) {
  const TemporaryFolder folder, graphs;
  write_file(folder / "c.yaml", "datasets:\n  small: {kind: real, file: small.mtx, source: a test}\n");
  write_file(graphs / "small.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\n2 1\n");
  const ScopedEnvironment environment("WARPGRADE_GRAPHS", graphs.path().c_str());
  const CsrFile file = CsrFile::open(Catalog::load(folder / "c.yaml").ensure("small", folder / "cache"));
  expect_equal(file, {2, 2, {0, 1, 2}, {1, 0}, {1.0f, 1.0f}});
  EXPECT_EQ(file.origin().source, "a test");
}

TEST(Ensure, LeavesNothingBehindWhenTheSourceIsDamaged) {
  const TemporaryFolder folder, graphs;
  write_file(folder / "c.yaml", "datasets:\n  small: {kind: real, file: small.mtx}\n");
  write_file(graphs / "small.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n2 2 5\n2 1\n");
  const ScopedEnvironment environment("WARPGRADE_GRAPHS", graphs.path().c_str());
  expect_error([&] { Catalog::load(folder / "c.yaml").ensure("small", folder / "cache"); }, {"small.mtx:3:"});
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder / "cache")) {
    EXPECT_TRUE(entry.is_directory() || entry.path().extension() == ".lock") << entry.path();
  }
}

TEST(Ensure, IsSafeInSeveralProcessesAtOnce) {
  const TemporaryFolder folder;
  std::vector<pid_t> children;
  for (int i = 0; i < 6; ++i) {
    const pid_t pid = fork();
    if (pid == 0) {
      int status = 1;
      try {
        const CsrFile file = CsrFile::open(shipped().ensure("arxiv@0.3", folder.path()));
        file.verify();
        status = file.nnz() == 349873 ? 0 : 2;
      } catch (...) {
      }
      _exit(status);
    }
    children.push_back(pid);
  }
  for (const pid_t pid : children) {
    int status = -1;
    waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
  }
  int archives = 0;
  for (const std::string& name : folder.files()) {
    archives += name.ends_with(".npz") ? 1 : 0;
    EXPECT_EQ(name.find(".tmp"), std::string::npos) << name;
  }
  EXPECT_EQ(archives, 1);
}

}  // namespace
}  // namespace warpgrade::datasets
