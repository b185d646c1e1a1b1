#include "redact/engine.h"

#include <algorithm>

#include "redact/escapes.h"

namespace paddock::redact {
namespace {

// Within one chunk, so that what is found does not pile up.
constexpr uint64_t kShowEvery = 64 << 10;

// In bytes: how much of a long chunk is copied to join what was kept.
constexpr size_t kJoin = 4096;
constexpr uint64_t kLookBehind = kLongestEscape;
// Bytes of what could become a secret that are shown when nothing follows.
constexpr uint64_t kIdle = 3;

}  // namespace

Engine::Engine(const Rules::Compiled& rules)
    : rules_(&rules),
      running_{{},
               KnownWalk(rules.forms, KnownWalk::Breaks::count),
               KnownWalk(rules.forms, KnownWalk::Breaks::skipped),
               {}} {}

// Shows as much as is certain, and keeps the rest until more is fed.
void Engine::feed(std::string_view chunk, std::string& out) {
  // What was kept and the first bytes of a long chunk are put together and looked at; the rest is
  // looked at where it stands.
  if (!kept_.empty() && chunk.size() > 2 * kJoin) {
    feed(chunk.substr(0, kJoin), out);
    if (kept_.size() <= kJoin) {
      chunk.remove_prefix(kJoin - kept_.size());
      fed_ -= kept_.size();
      kept_.clear();
    } else {
      chunk.remove_prefix(kJoin);
    }
  }
  if (chunk.empty()) return;
  window_.base = fed_ - kept_.size();
  fed_ += chunk.size();
  if (!kept_.empty()) kept_ += chunk;
  window_.text = kept_.empty() ? chunk : std::string_view(kept_);
  run(out);
  show(first_open(), out);
  keep_rest();
}

// Called when a terminal is quiet: a few bytes of what could become a secret are shown, never a
// part of a key's body.
void Engine::idle(std::string& out) {
  uint64_t open = first_open();
  bool in_key = running_.key && running_.key->has_body();
  show(std::min(window_.end(), open + (in_key ? 0 : kIdle)), out);
  keep_rest();
}

// After this the engine is as new, except for its counts.
void Engine::finish(std::string& out) {
  advance(running_, window_.end());
  for (Thread& thread : running_.threads) {
    thread.meet_end();
    finish_thread(thread, Thread::Fate::over, running_);
  }
  if (running_.key) {
    add_key_part(running_.key->start(), running_.key->certain());
    running_.key->finish();
    add_key_part(running_.key->start(), running_.key->certain());
  }
  show(window_.end(), out);
  Counts counts = std::move(counts_);
  uint64_t work = work_;
  *this = Engine(*rules_);
  counts_ = std::move(counts);
  work_ = work;
}

// Walks from one place to the next at which something may begin. What is certain is shown on the
// way, so that a long chunk does not pile up.
void Engine::run(std::string& out) {
  if (window_.end() < scanned_ + Prefilter::kBytes) return;
  uint64_t to = window_.end() - (Prefilter::kBytes - 1), shown = scanned_;
  Prefilter::Walk walk{.before = before_window_};
  // Two rows of places: those of the filter, and those after an escape sequence, where it would
  // miss what must not follow a letter.
  const size_t end = to - window_.base;
  size_t filtered = 0;
  bool is_met = true;  // the filter's place
  Escapes escapes(window_.text, scanned_ - window_.base);
  while (scanned_ < to) {
    size_t from = scanned_ - window_.base;
    if (is_met) filtered = rules_->filter.next(window_.text, from, end, walk);
    size_t escaped = escapes.next(from, end), first = std::min(filtered, escaped);
    is_met = first == filtered;
    bool behind_escape = first == escaped;
    uint64_t place = window_.base + first;
    if (!running_.none()) advance_all(place);
    if (place - shown >= kShowEvery) {
      show(std::min(place, hold_of(running_)), out);
      shown = place;
    }
    scanned_ = place;
    if (place == to) break;
    begin_at(place,
             behind_escape ? rules_->filter.groups_of(window_.text.data() + first) : walk.groups,
             behind_escape);
    ++scanned_;
  }
  advance_all(to);
}

// Threads of one pattern that have outlived the first look are bounded in number. They are run as
// one when one more comes of age, which does not depend on how the stream is cut: whether a thread
// that dies young is made at all does.
void Engine::advance_all(uint64_t place) {
  for (uint64_t limit = 0; limit < place;) {
    limit = place;
    bool many = running_.threads.size() > rules_->fewest_threads;
    if (many)
      for (const Thread& thread : running_.threads)
        if (thread.at < thread.start + Thread::kLookAhead)
          limit = std::min(limit, thread.start + Thread::kLookAhead);
    advance(running_, limit);
    if (many) join_oldest(limit);
  }
}

// Only threads that reach the end of the look ahead just now are counted, so that each is counted
// once.
void Engine::join_oldest(uint64_t now) {
  std::vector<Thread>& threads = running_.threads;
  for (size_t i = 0; i < threads.size(); ++i) {
    if (threads[i].start + Thread::kLookAhead != now) continue;
    size_t count = 0, oldest = i, next = i;
    for (size_t k = 0; k < threads.size(); ++k) {
      ++work_;
      if (threads[k].automaton != threads[i].automaton ||
          threads[k].start + Thread::kLookAhead > now)
        continue;
      ++count;
      if (threads[k].start < threads[oldest].start)
        next = oldest, oldest = k;
      else if (k != oldest && (next == oldest || threads[k].start < threads[next].start))
        next = k;
    }
    if (count <= rules_->most_threads(*threads[i].automaton)) continue;
    threads[oldest].take_over(threads[next]);
    threads.erase(threads.begin() + static_cast<std::ptrdiff_t>(next));
    if (next <= i) --i;
  }
}

// Runs everything that is under way up to `limit`. Threads that die or end report what they
// accepted.
void Engine::advance(Running& running, uint64_t limit) {
  std::vector<Thread>& threads = running.threads;
  for (size_t i = 0; i < threads.size();) {
    Thread& thread = threads[i];
    Thread::Fate fate = thread.run(window_, limit, work_);
    if (fate == Thread::Fate::full && thread.accepted_end != kNowhere &&
        report(thread, fate, running)) {
      thread.is_certain = true;
      thread.stop = kNowhere;
      continue;
    }
    if (fate == Thread::Fate::alive) {
      if (thread.is_certain) finish_thread(thread, fate, running);
      ++i;
      continue;
    }
    if (fate != Thread::Fate::full) finish_thread(thread, fate, running);
    if (i + 1 < threads.size()) threads[i] = threads.back();
    threads.pop_back();
  }
  running.forms.run(window_, limit, regions_, work_);
  running.wrapped.run(window_, limit, regions_, work_);
  if (!running.key) return;
  KeyBody& key = *running.key;
  bool goes_on = true;
  while (goes_on && key.at() < limit) {
    ++work_;
    uint64_t start = key.start(), certain = key.certain();
    goes_on = key.step(window_.at(key.at()));
    if (key.start() != start) add_key_part(start, certain);
  }
  add_key_part(key.start(), key.certain());
  if (!goes_on) running.key.reset();
}

// A key counts once, with its header.
void Engine::add_key_part(uint64_t start, uint64_t end) {
  regions_.add({start, end, key_label_, false, 0, true});
}

// Known values and patterns begin independently; both may match at the same place.
void Engine::begin_at(uint64_t place, uint64_t groups, bool behind_escape) {
  std::string_view rest = window_.text.substr(place - window_.base);
  if ((groups & rules_->known_groups) && rules_->knows(rest.data())) {
    running_.forms.begin_at(place);
    running_.wrapped.begin_at(place);
  }
  for (; groups; groups &= groups - 1) {
    size_t group = static_cast<size_t>(__builtin_ctzll(groups));
    for (const PatternAutomaton& automaton : rules_->in_group(group)) {
      ++work_;
      if (!Thread::has_prefix(automaton, rest) || !may_begin(automaton, place, behind_escape) ||
          !Thread::can_begin(automaton, rest))
        continue;
      running_.threads.emplace_back(automaton, place, byte_before(place));
    }
  }
}

// -1 at the beginning of the stream.
int Engine::byte_before(uint64_t place) const {
  return place > window_.base ? window_.at(place - 1) : before_window_;
}

// After an escape sequence any byte in front is fine: "\n" ends with a letter that is none.
bool Engine::may_begin(const PatternAutomaton& automaton, uint64_t place,
                       bool behind_escape) const {
  if (rules_->skips(automaton)) return false;
  if (behind_escape) return true;
  int before = byte_before(place);
  return before < 0 || !automaton.before ||
         has(automaton.before, static_cast<unsigned char>(before));
}

// Joining threads depends on what comes next, so looking ahead is not possible then.
bool Engine::is_crowded() const {
  const std::vector<Thread>& threads = running_.threads;
  for (size_t i = 0; i + rules_->fewest_threads <= threads.size(); ++i) {
    auto same = [&](const Thread& other) { return other.automaton == threads[i].automaton; };
    if (static_cast<size_t>(std::count_if(threads.begin(), threads.end(), same)) >=
        rules_->most_threads(*threads[i].automaton))
      return true;
  }
  return false;
}

// What is certain was counted already; only its end moves.
void Engine::finish_thread(const Thread& thread, Thread::Fate fate, Running& running) {
  if (thread.accepted_end == kNowhere) return;
  if (!thread.is_certain)
    (void)report(thread, fate, running);
  else
    regions_.add(
        {thread.accepted_value, thread.accepted_end, rules_->label(*thread.automaton), false, 0});
}

// Asks the rule's check for what the pattern alone cannot tell. A false alarm leaves no trace.
bool Engine::report(const Thread& thread, Thread::Fate fate, Running& running) {
  uint64_t front = thread.start - std::min<uint64_t>(thread.start - window_.base, kLookBehind);
  Found found{.front = window_.part(front, thread.start),
              .context = window_.part(thread.start, thread.accepted_value),
              .value = window_.part(thread.accepted_value, thread.accepted_end),
              .before = thread.before,
              // What else has come does not matter.
              .after = fate == Thread::Fate::dead ? window_.at(thread.accepted_end) : -1};
  Check check = rules_->check(*thread.automaton);
  size_t length = check ? check(found) : found.value.size();
  work_ += found.value.size();
  if (length == 0) return false;
  uint32_t label = rules_->label(*thread.automaton);
  regions_.add({thread.accepted_value, thread.accepted_value + length, label, false, 0});
  if (rules_->is_key_header(*thread.automaton)) {
    running.key.emplace(thread.accepted_value, thread.accepted_end);
    key_label_ = label;
  }
  return true;
}

// The first byte that anything under way may still turn into a secret.
uint64_t Engine::hold_of(const Running& running) const {
  uint64_t hold = std::min(running.forms.hold(), running.wrapped.hold());
  for (const Thread& thread : running.threads) hold = std::min(hold, thread.hold());
  if (running.key) hold = std::min(hold, running.key->hold());
  return hold;
}

// Runs copies ahead over the bytes that the prefilter cannot judge yet, to show as much as
// possible.
uint64_t Engine::first_open() {
  uint64_t open = std::min(window_.end(), hold_of_tail());
  if (running_.none()) return open;
  // Where threads may have to be run as one, what comes next decides about them: no look ahead.
  if (is_crowded()) return std::min(open, hold_of(running_));
  Running ahead = running_;
  advance(ahead, window_.end());
  return std::min(open, hold_of(ahead));
}

// The first of the last bytes with which something may begin that the prefilter has not seen whole.
uint64_t Engine::hold_of_tail() const {
  for (uint64_t place = scanned_; place < window_.end(); ++place) {
    uint64_t groups = ~uint64_t{0}, work = 0;
    std::string_view rest = window_.part(place, window_.end());
    bool behind_escape = ends_escape(window_.text, place - window_.base);
    for (uint64_t i = place; i < window_.end(); ++i)
      groups &= rules_->filter.first[i - place][window_.at(i)];
    if (groups & rules_->known_groups) {
      Trie::Node node = Trie::kRoot;
      for (uint64_t i = place; i < window_.end(); ++i)
        node = rules_->forms.step(node, window_.at(i), work);
      if (rules_->forms.depth(node) == window_.end() - place) return place;
    }
    for (; groups; groups &= groups - 1) {
      size_t group = static_cast<size_t>(__builtin_ctzll(groups));
      for (const PatternAutomaton& automaton : rules_->in_group(group)) {
        if (!Thread::has_prefix(automaton, rest) || !may_begin(automaton, place, behind_escape))
          continue;
        Thread thread(automaton, place, -1);
        if (thread.run(window_, window_.end(), work) == Thread::Fate::alive &&
            thread.hold() != kNowhere)
          return place;
      }
    }
  }
  return kNowhere;
}

// Writes text and marks up to `until`. A region that continues an earlier one is not counted again.
void Engine::show(uint64_t until, std::string& out) {
  size_t done = 0;
  for (const Region& region : regions_.all()) {
    if (region.start >= until) break;
    ++done;
    if (region.start >= swallowed_) {
      if (region.start > shown_) out += window_.part(shown_, region.start);
      const char* name = rules_->name(region.label);
      out += "[redacted:";
      out += name;
      out += ']';
      if (!region.continues) ++counts_[name];
    }
    swallowed_ = std::max(swallowed_, region.end);
    shown_ = std::max(shown_, swallowed_);
  }
  if (done) regions_.drop(done);
  if (until <= shown_) return;
  out += window_.part(shown_, until);
  shown_ = until;
}

// Keeps what is not shown, what is not scanned, and a few bytes in front for checks that look back.
void Engine::keep_rest() {
  uint64_t from = std::min(shown_, scanned_);
  for (const Thread& thread : running_.threads)
    if (!thread.is_certain) from = std::min(from, thread.start);  // the others only swallow
  from -= std::min(from - window_.base, kLookBehind);
  before_window_ = byte_before(from);
  if (window_.text.data() == kept_.data())
    kept_.erase(0, from - window_.base);
  else
    kept_.assign(window_.part(from, window_.end()));
  window_ = {kept_, from};
}

}  // namespace paddock::redact
