"""Twenty-two whole folders as students of the older SpMM interface keep them in public repositories.

Each function of a layout names the repository whose tree it imitates: names of files and folders are taken, no code.
The sources are our own, four short programs. What the repositories leave out, since the course gives it (its
headers and its test), the layouts leave out or bring along as those trees do.
"""

from __future__ import annotations

import json
from pathlib import Path

from conftest import ROOT

OWN = ROOT / "grader/tests/submissions/accepted/legacy_src_include"
HEADER = (OWN / "include/spmm_opt.h").read_text(encoding="utf-8")
GOOD = (OWN / "src/spmm_opt.cu").read_text(encoding="utf-8").replace("../include/", "")
OLD = GOOD.replace("sum += val", "sum -= val") + "// an older try, with a wrong sign\n"
BROKEN = '#include "spmm_opt.h"\nvoid SpMMOpt::run(float *vin, float *vout) { does not compile }\n'
KERNELS = "__global__ void unused(float *x) { x[threadIdx.x] = 0; }\n"
GTEST = "#include <gtest/gtest.h>\nint main(int argc, char **argv) { return RUN_ALL_TESTS(); }\n"
CMAKE = """cmake_minimum_required(VERSION 3.8 FATAL_ERROR)
include_directories(./include)
add_library(expspmm STATIC
include/data.h
src/data.cu
src/spmm_ref.cu
src/spmm_opt.cu
  )
add_subdirectory(${CMAKE_CURRENT_LIST_DIR}/third_party/googletest/)
add_subdirectory(test)
"""
Files = dict[str, str]
PA3: Files = {"PA3/include/spmm_opt.h": HEADER, "PA3/src/spmm_opt.cu": GOOD}
FLAT: Files = {"include/spmm_opt.h": HEADER, "src/spmm_opt.cu": GOOD}
BUILD: Files = {  # what CMake leaves in a tree that somebody committed whole
    "build/CMakeCache.txt": "# cache\n",
    "build/CMakeFiles/3.18.4/CompilerIdCUDA/CMakeCUDACompilerId.cu": "int main() { return unknown; }\n",
    "build/CMakeFiles/expspmm.dir/src/spmm_opt.cu.o": "\x7fELF",
    "build/Makefile": "all:\n\tcmake\n",
    "build/output_GPU_11_31_56.log": "time 0.1\n",
}


def googletest(at: str) -> Files:
    """GoogleTest as courses bring it: more files than a submission may have, with mains and headers."""
    files = {f"{at}/googletest/src/gtest-{i}.cc": f'#include "gtest/gtest-{i}.h"\nint gtest_{i};\n' for i in range(150)}
    files |= {f"{at}/googletest/include/gtest/gtest-{i}.h": "#error not here\n" for i in range(100)}
    return files | {f"{at}/googlemock/src/gmock_main.cc": GTEST, f"{at}/CMakeLists.txt": "project(googletest)\n"}


def below(folder: str, files: Files) -> Files:
    """The files in a folder."""
    return {f"{folder}/{name}": text for name, text in files.items()}


def notebook(*cells: str) -> str:
    """A Jupyter notebook of code cells."""
    return json.dumps({"cells": [{"cell_type": "code", "source": [cell]} for cell in cells], "nbformat": 4})


HARNESS: Files = {  # of the course itself
    "src/spmm_ref.cu": '#include "spmm_ref.h"\n',
    "src/spmm_cusparse.cu": '#include "spmm_cusparse.h"\n#include <cusparse.h>\n',
    "src/valid.cu": '#include "valid.h"\n',
    "src/data.cu": '#include "data.h"\n',
    "include/spmm_ref.h": "class SpMMRef;\n",
    "include/valid.h": "#include <curand.h>\n",
    "test/CMakeLists.txt": "add_executable(unit_tests main.cpp test_spmm.cu)\n",
    "test/main.cpp": GTEST,
    "test/test_spmm.cu": "#include <gtest/gtest.h>\n",
}
OLD_NAMES = (
    "1",
    "2",
    "ablation",
    "coarse_and_fine",
    "coarsen",
    "final",
    "pass_0",
    "pass_1",
    "shared_1d",
    "sparse_sort",
)

FOLDERS: dict[str, Files] = {
    # Cirronephe/Introduction-to-High-Performance-Computing: PA3 with its build folder and versions beside the source
    "cirronephe": {
        **PA3,
        **below("PA3", BUILD),
        "PA3/src/spmm_opt copy.cu": OLD,
        "PA3/src/spmm_opt0.cu": OLD + "// 0\n",
        "PA3/src/spmm_opt_cont.cu": BROKEN,
        "PA3/src/spmm_row.cu": OLD + "// row\n",
        "PA3/src/重边处理.cu": OLD + "// edges\n",
    },
    # Flockenwirbel/HPC: reports and outputs of each version
    "flockenwirbel": {**PA3, "PA3/report.md": "# SpMM\n", "PA3/report.pdf": "%PDF-1.5", "PA3/v1.out": "0.1\n"},
    # FranGuam/hpc-lab: papers, logs, scripts
    "franguam": {
        **PA3,
        "PA3/GE-SpMM.pdf": "%PDF-1.5",
        "PA3/output/analysis.xlsx": "PK",
        "PA3/output/output_06-17.log": "0.1\n",
        "PA3/script/build.sh": "cmake ..\n",
    },
    # HBX-hbx/HPC: CMakeLists.txt with third_party/googletest, the whole build folder, a CPU version
    "hbx": {
        **PA3,
        **below("PA3", BUILD),
        **below("PA3", googletest("third_party/googletest")),
        "PA3/CMakeLists.txt": CMAKE,
    },
    # PhoenixGS/hpc-hw: the two files and a report
    "phoenixgs": {**PA3, "PA3/report.md": "# SpMM\n", "PA3/report.pdf": "%PDF-1.5"},
    # SSSayon/HPC: the course's sources and util.h changed by the student, own scripts
    "sssayon": {
        **PA3,
        **below("PA3", {name: text for name, text in HARNESS.items() if name.startswith("src")}),
        "PA3/include/util.h": "struct CSR;\nvoid argParse(int, char **);\n",
        "PA3/my_scripts/parse.py": "print(1)\n",
    },
    # chengsx21/HPC-Lab, with the header that it leaves unchanged at the course
    "chengsx21": {**PA3, "PA3/script/run_1.sh": "srun\n", "PA3/script/run_2.sh": "srun\n"},
    # nwiad/Intro-to-HPC: bin/ with an old version for each idea
    "nwiad": {
        **PA3,
        **{f"PA3/bin/spmm_opt_{name}.cu": f"{OLD}// {name}\n" for name in OLD_NAMES},
        "PA3/log/output_05.log": "0.1\n",
        "PA3/script/proc.py.bak": "print(1)\n",
    },
    # panxuc/hpc-lab: figures of each version
    "panxuc": {**PA3, "PA3/3.spmm.md": "# task\n", "PA3/README.pdf": "%PDF", "PA3/assets/spmm_opt_1.svg": "<svg/>"},
    # tannlonggtaoo/Parallel_Computation: backup/trash_spmm_opt.cu, a build folder with METIS, CMakeLists.txt
    "tannlonggtaoo": {
        **PA3,
        **below("PA3", BUILD),
        **below("PA3", googletest("third_party/googletest")),
        "PA3/CMakeLists.txt": CMAKE,
        "PA3/backup/trash_spmm_opt.cu": OLD,
        "PA3/build/bin/gpmetis": "\x7fELF",
    },
    # vincent-sjh/Exp_THU_HPC: the reference's header beside the own one
    "vincent": {**PA3, "PA3/include/spmm_ref.h": "class SpMMRef;\n"},
    # zha0xm/hpc: the graphs
    "zha0xm": {
        **PA3,
        "PA3/data/am.config": "881680\n",
        "PA3/data/am.graph.ptrdump": "\x00\x01",
        "PA3/script/run.sh": "x",
    },
    # zhang-tlgg/HPC-Lab: spmm_opt_1.cu and spmm_opt_2.cu beside spmm_opt.cu, no CMakeLists.txt
    "zhang": {**PA3, "PA3/src/spmm_opt_1.cu": OLD, "PA3/src/spmm_opt_2.cu": OLD + "// 2\n", "PA3/img/img1.png": "PNG"},
    # zhusq20/hpc_coursework: .DS_Store everywhere, third_party, a build folder
    "zhusq20": {
        **PA3,
        **below("PA3", BUILD),
        **below("PA3", googletest("third_party/googletest")),
        "PA3/CMakeLists.txt": CMAKE,
        "PA3/third_party/.DS_Store": "Bud1",
    },
    # Auroralsis/PA3: the lab alone at the top, googletest below build/
    "auroralsis": {**FLAT, **BUILD, **googletest("build/third_party/googletest"), ".vscode/settings.json": "{}"},
    # Guangxuan-Xiao/SPMM-CUDA: profiles, tables, the course's test/CMakeLists.txt
    "guangxuan": {
        **FLAT,
        "prof/arxiv-128.nvprof": "SQLite",
        "script/16_32.csv": "1,2\n",
        "test/CMakeLists.txt": "# t\n",
    },
    # boxworld18/cuda-spmm: the course's files all there
    "boxworld18": {**FLAT, **HARNESS, "readme.md": "# SpMM\n", "script/extractor.py": "print(1)\n"},
    # djh592/thu-hpc-spmm: spmm_opt_all.cu and spmm_opt_naive.cu
    "djh592": {**FLAT, "src/spmm_opt_all.cu": OLD, "src/spmm_opt_naive.cu": BROKEN, "image.png": "PNG"},
    # The three: an old version that the own CMakeLists.txt never names
    "old_version": {
        **FLAT,
        **googletest("third_party/googletest"),
        "CMakeLists.txt": CMAKE,
        "src/spmm_opt.old.cu": OLD,
    },
    "old_folder": {
        **FLAT,
        **HARNESS,
        "CMakeLists.txt": CMAKE,
        "backup/spmm_opt.cu": BROKEN,
        "backup/spmm_opt.h": HEADER,
    },
    "old_copies": {**FLAT, "CMakeLists.txt": CMAKE, "src/spmm_opt - Copy.cu": OLD, "src/spmm_opt (1).cu": GOOD},
    # A main left in, a second helper, notebooks with the measurements
    "main_left_in": {
        **FLAT,
        "src/spmm_opt.cu": GOOD + "\nint main(int argc, char **argv) { return argc; }\n",
        "src/kernels.cu": KERNELS,
        "analysis.ipynb": notebook("import pandas\n", "%%cu\nint main() { return 0; }\n"),
    },
}


def write_folder(name: str, place: Path) -> Path:
    """Writes one of FOLDERS."""
    for file, text in FOLDERS[name].items():
        (place / file).parent.mkdir(parents=True, exist_ok=True)
        (place / file).write_text(text, encoding="utf-8")
    return place
