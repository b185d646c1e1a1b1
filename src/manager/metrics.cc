// What sandboxes use, looked at every few seconds; and what is due now and then: volumes' sizes, layers that nobody uses.
#include "base/text.h"
#include "linux/tree.h"
#include "manager/manager.h"

namespace paddock::manager {

namespace {

constexpr io::Milliseconds kSampleEvery = 5'000;
constexpr uint64_t kSweepEvery = 12, kMeasureEvery = 2;  // ticks

}  // namespace

void Manager::tick() {
  if (stopping_) return;
  ++ticks_;
  timers_->set("", loop_.now() + kSampleEvery);
  for (const auto& [id, sandbox] : sandboxes_)
    if (sandbox->info_.state == SandboxState::running && !sandbox->sampling_) io::spawn(sample(sandbox));
  if (sweep_due_ || ticks_ % kSweepEvery == 0) sweep();
  if ((ticks_ == 1 || ticks_ % kMeasureEvery == 0) && !measuring_) io::spawn(measure_volumes());
}

// An operation in the middle of things has the turn; then there is no sample this time.
io::Task<void> Manager::sample(std::shared_ptr<Sandbox> sandbox) {
  Busy busy(*this);
  sandbox->sampling_ = true;
  {
    Turn::Held held = co_await sandbox->turn_.take();
    if (sandbox->info_.state == SandboxState::running && sandbox->body_) {
      Result<InstanceUsage> usage = co_await sandbox->body_->usage();
      if (usage) sandbox->add_metric(usage.value());
    }
  }
  sandbox->sampling_ = false;
}

// No filesystem quota stands behind a volume: who writes more than it may hold is found out by looking, and ended.
io::Task<void> Manager::measure_volumes() {
  Busy busy(*this);
  measuring_ = true;
  std::map<std::string, std::vector<std::shared_ptr<Sandbox>>> writers;  // by volume id
  for (const auto& [id, sandbox] : sandboxes_) {
    if (sandbox->info_.state != SandboxState::running) continue;
    for (const VolumeMount& mount : sandbox->info_.volumes) {
      Result<VolumeInfo> volume = volumes_->find(sandbox->info_.tenant, mount.name);
      if (volume && !mount.read_only) writers[volume.value().id].push_back(sandbox);
    }
  }
  for (const std::string& id : volumes_->touched()) writers[id];
  for (const auto& [id, sandboxes] : writers) {
    const VolumeInfo* volume = volumes_->find_by_id(id);
    if (!volume || stopping_) continue;
    std::string directory = volume->directory;
    Result<uint64_t> bytes = Error{};
    std::function<void()> work = [&bytes, directory] { bytes = measure_volume(directory); };
    volumes_->measuring(id);
    co_await worker_->run(work);
    volumes_->measured(id, bytes);
    if (!bytes) continue;
    volume = volumes_->find_by_id(id);
    if (!volume || !volume->is_over()) continue;
    std::string why = cat("limit disk: volume '", volume->name, "' holds ", human_size(volume->used_bytes), " of ", human_size(volume->quota_bytes));
    for (const std::shared_ptr<Sandbox>& sandbox : sandboxes) io::spawn(finish(sandbox, why));
  }
  measuring_ = false;
}

}  // namespace paddock::manager
