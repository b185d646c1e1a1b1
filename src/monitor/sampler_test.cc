#include "monitor/sampler.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/text.h"
#include "monitor/meter.h"

namespace paddock::monitor {
namespace {

class Groups : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "paddock-sampler-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    top_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(top_); }

  std::string write(const std::string& group, const std::string& file, const std::string& text) {
    std::filesystem::create_directories(top_ + "/" + group);
    std::ofstream(top_ + "/" + group + "/" + file) << text;
    return top_ + "/" + group;
  }

  std::vector<std::string> version_1() {
    write("memory", "memory.usage_in_bytes", "1048576\n");
    write("memory", "memory.max_usage_in_bytes", "2097152\n");
    write("memory", "memory.stat", "cache 300\nrss 400\nrss_huge 0\nshmem 100\ntotal_rss 9\n");
    write("memory", "memory.kmem.usage_in_bytes", "50\n");
    write("memory", "memory.kmem.tcp.usage_in_bytes", "6\n");
    write("memory", "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
    write("pids", "pids.current", "4\n");
    write("cpuacct", "cpuacct.usage", "5000000000\n");
    write("cpu", "cpu.stat", "nr_periods 10\nnr_throttled 3\nthrottled_time 7000000\n");
    write("blkio", "blkio.throttle.io_service_bytes_recursive",
          "8:0 Read 100\n8:0 Write 200\n8:0 Sync 300\n8:0 Total 300\n8:16 Read 1\n8:16 Write "
          "2\nTotal 303\n");
    return {top_ + "/memory", top_ + "/pids", top_ + "/cpuacct", top_ + "/cpu", top_ + "/blkio"};
  }

  std::string version_2() {
    write("unified", "cgroup.controllers", "cpu memory pids io\n");
    write("unified", "cpu.stat",
          "usage_usec 5000000\nuser_usec 1\nnr_periods 9\nnr_throttled 3\nthrottled_usec 7000\n");
    write("unified", "memory.current", "1048576\n");
    write("unified", "memory.peak", "2097152\n");
    write("unified", "memory.stat",
          "anon 400\nfile 300\nkernel 50\nkernel_stack 16\nsock 6\nshmem 100\n");
    write("unified", "memory.events", "low 0\nhigh 0\nmax 1\noom 1\noom_kill 2\n");
    write("unified", "pids.current", "4\n");
    write("unified", "io.stat",
          "8:0 rbytes=100 wbytes=200 rios=1 wios=1 dbytes=0 dios=0\n8:16 rbytes=1 wbytes=2 rios=0 "
          "wios=0\n");
    write("unified", "cpu.pressure",
          "some avg10=12.50 avg60=1.00 avg300=0.10 total=12\nfull avg10=99.00 avg60=0.00 "
          "avg300=0.00 total=0\n");
    write("unified", "memory.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n");
    return write("unified", "io.pressure", "some avg10=3.25 avg60=0.00 avg300=0.00 total=0\n");
  }

  static void expect_all(const Reading& reading) {
    EXPECT_EQ(reading.cpu_us, 5'000'000u);
    EXPECT_EQ(reading.memory, 1'048'576u);
    EXPECT_EQ(reading.memory_peak, 2'097'152u);
    EXPECT_EQ(reading.memory_anon, 400u);
    EXPECT_EQ(reading.memory_file, 300u);
    EXPECT_EQ(reading.memory_shmem, 100u);
    EXPECT_EQ(reading.memory_kernel, 50u);
    EXPECT_EQ(reading.memory_sockets, 6u);
    EXPECT_EQ(reading.pids, 3u);  // one is ours
    EXPECT_EQ(reading.read_bytes, 101u);
    EXPECT_EQ(reading.written_bytes, 202u);
    EXPECT_EQ(reading.throttled, 3u);
    EXPECT_EQ(reading.throttled_us, 7000u);
    EXPECT_EQ(reading.oom_kills, 2u);
  }

  std::string top_;
};

TEST_F(Groups, ReadsVersionOne) {
  Sampler sampler(version_1(), 1);
  Reading reading;
  EXPECT_TRUE(sampler.read(reading, true));
  expect_all(reading);
  EXPECT_EQ(reading.pressure_cpu, -1);  // there is none
}

TEST_F(Groups, ReadsVersionTwo) {
  Sampler sampler({version_2()}, 1);
  Reading reading;
  EXPECT_TRUE(sampler.read(reading, true));
  expect_all(reading);
  EXPECT_DOUBLE_EQ(reading.pressure_cpu, 12.5);
  EXPECT_DOUBLE_EQ(reading.pressure_memory, 0);
  EXPECT_DOUBLE_EQ(reading.pressure_io, 3.25);
}

TEST_F(Groups, OfAHybridHostVersionOneCountsAndVersionTwoTellsThePressure) {
  std::vector<std::string> groups = version_1();
  write("both", "cgroup.controllers", "");
  write("both", "cpu.stat", "usage_usec 1\nuser_usec 1\n");
  groups.insert(groups.begin(),
                write("both", "cpu.pressure", "some avg10=2.00 avg60=0.00 avg300=0.00 total=0\n"));
  Sampler sampler(groups, 1);
  Reading reading;
  EXPECT_TRUE(sampler.read(reading, true));
  expect_all(reading);
  EXPECT_DOUBLE_EQ(reading.pressure_cpu, 2);
}

TEST_F(Groups, ReadsTheDearPartOnlyWhenAsked) {
  Sampler sampler(version_1(), 1);
  Reading reading{.memory_anon = 77};
  EXPECT_TRUE(sampler.read(reading, false));
  EXPECT_EQ(reading.memory_anon, 77u);
  EXPECT_EQ(reading.memory, 1'048'576u);
  EXPECT_FALSE(reading.deep);
}

TEST_F(Groups, SeesWhatChangesThroughTheOpenFiles) {
  Sampler sampler(version_1(), 1);
  Reading reading;
  for (const char* text : {"11\n", "123456\n", "5\n"}) {
    write("cpuacct", "cpuacct.usage", text);
    write("memory", "memory.usage_in_bytes", text);
    write("memory", "memory.oom_control", cat("oom_kill ", text));
    ASSERT_TRUE(sampler.read(reading, true));
    EXPECT_EQ(reading.memory, std::strtoull(text, nullptr, 10));
    EXPECT_EQ(reading.oom_kills, reading.memory);
  }
}

TEST_F(Groups, LooksAtTheRestWhenSomethingRanAndNowAndThenAnyway) {
  Sampler sampler(version_1(), 1);
  Reading reading;
  ASSERT_TRUE(sampler.read(reading, false));
  write("memory", "memory.usage_in_bytes", "7\n");
  ASSERT_TRUE(sampler.read(reading, false));
  EXPECT_EQ(reading.memory, 1'048'576u);
  write("cpuacct", "cpuacct.usage", "5000000001\n");  // a nanosecond
  ASSERT_TRUE(sampler.read(reading, false));
  EXPECT_EQ(reading.memory, 7u);
  write("memory", "memory.usage_in_bytes", "8\n");
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(sampler.read(reading, false));
  EXPECT_EQ(reading.memory, 8u);
}

TEST_F(Groups, SaysWhenSomethingIsMissing) {
  std::vector<std::string> groups = version_1();
  std::filesystem::remove(top_ + "/pids/pids.current");
  Sampler sampler(groups, 1);
  Reading reading{.pids = 9};
  EXPECT_FALSE(sampler.read(reading, true));
  EXPECT_EQ(reading.cpu_us, 5'000'000u);
  EXPECT_EQ(reading.pids, 9u);
  Sampler nothing({}, 1);
  EXPECT_FALSE(nothing.read(reading, true));
}

TEST(Meter, TheFirstSampleHasNoRatesUnlessItBegan) {
  Meter meter;
  EXPECT_EQ(meter.measure({.cpu_us = 5'000'000}, 1'000'000, 1).cpu_percent, 0);
  Meter begun;
  begun.begin({}, 0);
  EXPECT_DOUBLE_EQ(begun.measure({.cpu_us = 500'000}, 1'000'000, 1).cpu_percent, 50);
}

TEST(Meter, RatesAreOfTheTimeBetween) {
  Meter meter;
  meter.begin({}, 0);
  UsageSample sample = meter.measure({.cpu_us = 3'000'000,
                                      .read_bytes = 4000,
                                      .written_bytes = 2000,
                                      .throttled_us = 500'000,
                                      .deep = true},
                                     2'000'000, 1);
  EXPECT_DOUBLE_EQ(sample.cpu_percent, 150);
  EXPECT_EQ(sample.disk_read_rate, 2000u);
  EXPECT_EQ(sample.disk_write_rate, 1000u);
  EXPECT_DOUBLE_EQ(sample.throttled_percent, 25);
  sample =
      meter.measure({.cpu_us = 3'500'000, .read_bytes = 4000, .written_bytes = 2000}, 3'000'000, 2);
  EXPECT_DOUBLE_EQ(sample.cpu_percent, 50);
  EXPECT_EQ(sample.disk_read_rate, 2000u);  // not read again
  sample =
      meter.measure({.cpu_us = 3'500'000, .read_bytes = 4000, .written_bytes = 2000}, 4'000'000, 3);
  EXPECT_EQ(sample.disk_read_rate, 0u);  // it does nothing any more
  EXPECT_DOUBLE_EQ(sample.throttled_percent, 0);
}

TEST(Meter, ACounterThatFellIsNoRate) {
  Meter meter;
  meter.begin({.cpu_us = 9'000'000}, 0);
  EXPECT_EQ(meter.measure({.cpu_us = 1'000'000}, 1'000'000, 1).cpu_percent, 0);
}

TEST(Meter, TheNetworkIsMeasuredByEgressClock) {
  Meter meter;
  meter.begin({.net_time_ms = 1000, .net_known = true}, 0);
  EXPECT_EQ(meter.measure({.net_up = 500, .net_time_ms = 1500, .net_known = true}, 1'000'000, 1)
                .net_up_rate,
            1000u);
  // Nothing new was told.
  EXPECT_EQ(meter.measure({.net_up = 500, .net_time_ms = 1500, .net_known = true}, 2'000'000, 2)
                .net_up_rate,
            0u);
  // A burst after a silence is not spread over it.
  EXPECT_EQ(meter.measure({.net_up = 2500, .net_time_ms = 61'500, .net_known = true}, 3'000'000, 3)
                .net_up_rate,
            2000u);
}

TEST(Meter, WhatAServerFindsAfterARestartIsNoBurst) {
  Meter meter;
  meter.begin({}, 0);
  UsageSample sample =
      meter.measure({.net_up = 1'000'000'000, .net_time_ms = 99, .net_known = true}, 1'000'000, 1);
  EXPECT_EQ(sample.net_up_rate, 0u);
  EXPECT_EQ(sample.net_up, 1'000'000'000u);
}

}  // namespace
}  // namespace paddock::monitor
