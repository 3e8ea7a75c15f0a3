// Systems on which students meet a failure that says nothing, told by the files that they have. The
// texts are those of the real ones: WSL's kernel (github.com/microsoft/WSL2-Linux-Kernel), NVIDIA's
// kernel module (kernel-open/nvidia/nv-procfs.c of github.com/NVIDIA/open-gpu-kernel-modules),
// and nvidia-smi's head.
#include "cli/machine_checks.h"

#include <gtest/gtest.h>

#include "base/files.h"

namespace warpgrade {
namespace {

namespace fs = std::filesystem;

class Machine : public testing::Test {
 protected:
  const fs::path& root() const { return scratch_.path(); }
  void has(const std::string& file, const std::string& text = "") {
    make_directories((root() / file).parent_path());
    write_text(root() / file, text);
  }

 private:
  TemporaryDirectory scratch_{"machine-checks"};
};

constexpr const char* kWsl2 =
    "Linux version 5.15.133.1-microsoft-standard-WSL2 (root@1c602f52c2e4) (gcc (GCC) 11.2.0, GNU ld (GNU "
    "Binutils) 2.37) #1 SMP Thu Oct 5 21:02:42 UTC 2023\n";
constexpr const char* kWsl1 =
    "Linux version 4.4.0-19041-Microsoft (Microsoft@Microsoft.com) (gcc version 5.4.0 (GCC) ) "
    "#1237-Microsoft Sat Sep 11 14:32:00 PST 2021\n";
constexpr const char* kDebian =
    "Linux version 6.1.0-18-amd64 (debian-kernel@lists.debian.org) (gcc-12 (Debian 12.2.0-14) 12.2.0)\n";

TEST_F(Machine, AnOrdinaryOneIsToldNothing) {
  has("proc/version", kDebian);
  EXPECT_FALSE(wsl_finding(root()));
  EXPECT_FALSE(container_finding(root(), false));
  EXPECT_FALSE(counters_finding(root()));
}

TEST_F(Machine, Wsl2IsToldWhatIsLackingInTheOrderInWhichItIsMended) {
  has("proc/version", kWsl2);
  EXPECT_NE(wsl_finding(root())->advice.find("wsl --update"), std::string::npos);
  has("dev/dxg");
  EXPECT_NE(wsl_finding(root())->advice.find("driver in Windows"), std::string::npos);
  has("usr/lib/wsl/lib/libcuda.so.1");
  EXPECT_EQ(wsl_finding(root())->state, "ok");
  has("usr/lib/x86_64-linux-gnu/libcuda.so.1");
  EXPECT_EQ(wsl_finding(root())->state, "limited");
  EXPECT_NE(wsl_finding(root())->found.find("hides that of Windows"), std::string::npos);
}

TEST_F(Machine, Wsl1IsToldToBecomeWsl2) {
  has("proc/version", kWsl1);
  EXPECT_EQ(wsl_finding(root())->state, "missing");
  EXPECT_NE(wsl_finding(root())->advice.find("--set-version"), std::string::npos);
}

TEST_F(Machine, AContainerIsToldOnlyWhereNoBoxCanBeMade) {
  for (const char* mark : {".dockerenv", "run/.containerenv"}) {
    has(mark);
    EXPECT_FALSE(container_finding(root(), true));
    ASSERT_TRUE(container_finding(root(), false));
    EXPECT_NE(container_finding(root(), false)->advice.find("seccomp=unconfined"), std::string::npos);
    fs::remove(root() / mark);
  }
}

TEST_F(Machine, CountersAreForbiddenToWhoMayNotAdministrate) {
  const std::string before = "ResmanDebugLevel: 4294967295\nRmLogonRC: 1\n",
                    after = "\nDmaRemapPeerMmio: 1\n";
  has("proc/self/status", "Name:\tcat\nCapInh:\t0000000000000000\nCapEff:\t00000000a80425fb\n");  // Docker's
  has("proc/driver/nvidia/params", before + "RmProfilingAdminOnly: 1" + after);
  EXPECT_EQ(counters_finding(root())->state, "limited");
  EXPECT_NE(counters_finding(root())->advice.find("NVreg_RestrictProfilingToAdminUsers=0"),
            std::string::npos);
  has(".dockerenv");
  EXPECT_NE(counters_finding(root())->advice.find("--cap-add SYS_ADMIN"), std::string::npos);
  has("proc/self/status", "CapEff:\t000001ffffffffff\n");
  EXPECT_EQ(counters_finding(root())->state, "ok");
  has("proc/self/status", "CapEff:\t0000000000000000\n");
  has("proc/driver/nvidia/params", before + "RmProfilingAdminOnly: 0" + after);
  EXPECT_EQ(counters_finding(root())->state, "ok");
}

// The head of nvidia-smi's table.
std::string smi(const std::string& cuda) {
  return "Thu Mar 19 10:11:12 2026\n"
         "+-----------------------------------------------------------------------------------------+\n"
         "| NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: " +
         cuda +
         "     |\n"
         "|-----------------------------------------+------------------------+----------------------+\n";
}

TEST(ToolkitAndDriver, ANewerToolkitIsToldWithWhatFails) {
  const auto none = newer_toolkit_finding("13.0.88", smi("12.4"));
  ASSERT_TRUE(none);
  EXPECT_EQ(none->state, "missing");
  EXPECT_NE(none->advice.find("CUDA 12.4 or older"), std::string::npos);
  EXPECT_EQ(newer_toolkit_finding("12.8.93", smi("12.4"))->state, "limited");
  EXPECT_EQ(newer_toolkit_finding("12.10.1", smi("12.9"))->state, "limited") << "numbers, not letters";
}

TEST(ToolkitAndDriver, OthersAreNot) {
  EXPECT_FALSE(newer_toolkit_finding("12.4.131", smi("12.4")));
  EXPECT_FALSE(newer_toolkit_finding("11.8.89", smi("12.4")));
  EXPECT_FALSE(newer_toolkit_finding("13.0.88", smi("N/A")));
  EXPECT_FALSE(newer_toolkit_finding("13.0.88", "NVIDIA-SMI has failed because it couldn't communicate"));
  EXPECT_FALSE(newer_toolkit_finding("13.0.88", ""));
}

}  // namespace
}  // namespace warpgrade
