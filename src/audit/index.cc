#include "audit/index.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <variant>

#include "audit/database.h"
#include "audit/line_reader.h"
#include "audit/log_directory.h"
#include "audit/record.h"
#include "base/digest.h"
#include "base/text.h"
#include "base/value.h"

namespace paddock::audit {

namespace {

// A line's id is its place: the segment's number, then 36 bits of offset. Lines that are not
// records have no kind. Of each segment: how far it has been read, what the file looked like then,
// and its last line, by which one sees that it only grew.
constexpr const char* kSchema[] = {
    ("CREATE TABLE line (id INTEGER PRIMARY KEY, length INTEGER NOT NULL, seq INTEGER NOT NULL, "
     "time_us INTEGER NOT NULL, kind TEXT, sandbox TEXT, "
     "tenant TEXT, agent TEXT, trace TEXT, verdict TEXT)"),
    ("CREATE TABLE segment (number INTEGER PRIMARY KEY, looks TEXT NOT NULL, done INTEGER NOT "
     "NULL, last INTEGER NOT NULL, last_length INTEGER NOT NULL, last_hash TEXT NOT NULL)"),
    "CREATE INDEX line_seq ON line (seq)",
    "CREATE INDEX line_time ON line (time_us)",
    "CREATE INDEX line_kind ON line (kind, seq)",
    "CREATE INDEX line_sandbox ON line (sandbox, seq) WHERE sandbox IS NOT NULL",
    "CREATE INDEX line_tenant ON line (tenant, seq) WHERE tenant IS NOT NULL",
    "CREATE INDEX line_agent ON line (agent, seq) WHERE agent IS NOT NULL",
    "CREATE INDEX line_trace ON line (trace, seq) WHERE trace IS NOT NULL",
    "CREATE INDEX line_denied ON line (seq) WHERE verdict = 'deny'",
};

constexpr Layout kLayout{.application = 0x50644975, .version = 1, .schema = kSchema};

// With more kinds than this, one condition replaces a selection for each.
constexpr size_t kMostKinds = 100;

// A segment can have 64 GiB, far more than any rotation allows.
constexpr int kOffsetBits = 36;
int64_t id_of(uint64_t segment, uint64_t offset) {
  return static_cast<int64_t>(segment << kOffsetBits | offset);
}
uint64_t segment_of(int64_t id) { return static_cast<uint64_t>(id) >> kOffsetBits; }
uint64_t offset_of(int64_t id) {
  return static_cast<uint64_t>(id) & ((uint64_t{1} << kOffsetBits) - 1);
}

// All of it; Code::conflict: it is not there any more.
Result<std::string> read_part(int file, uint64_t offset, uint64_t length) {
  std::string bytes(length, '\0');
  for (size_t done = 0; done < length;) {
    ssize_t got =
        ::pread(file, bytes.data() + done, length - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_error(errno, "read the audit log");
    if (got == 0) return Error{Code::conflict, "read the audit log: it became shorter"};
    done += static_cast<size_t>(got);
  }
  return bytes;
}

// Everything that changes with a write or a replacement of the file.
std::string looks_of(const struct stat& info) {
  return cat(info.st_dev, ":", info.st_ino, ":", info.st_size, ":", info.st_ctim.tv_sec, ".",
             info.st_ctim.tv_nsec);
}

// "command" stands for all kinds that begin with "command.".
bool is_of_kind(const std::string& kind, const std::vector<std::string>& wanted) {
  if (wanted.empty()) return true;
  for (const std::string& want : wanted)
    if (kind == want || starts_with(kind, want + ".")) return true;
  return false;
}

// The question asked once more, of the line itself.
bool matches(const Query& query, const RecordSummary& line) {
  auto same = [](const std::string& wanted, const std::string& is) {
    return wanted.empty() || wanted == is;
  };
  if (!line.readable) return query.unreadable;
  return same(query.sandbox, line.sandbox) && same(query.tenant, line.tenant) &&
         same(query.agent, line.agent) && same(query.trace, line.trace) &&
         same(query.verdict, line.verdict) && is_of_kind(line.kind, query.kinds) &&
         (!query.since_us || line.time_us >= *query.since_us) &&
         (!query.until_us || line.time_us < *query.until_us) &&
         (!query.after || line.seq > *query.after) && (!query.before || line.seq < *query.before);
}

// The text as somebody types it may stand in the line with escapes.
bool has_text(const std::string& line, const std::string& text, const std::string& escaped) {
  return line.find(escaped) != std::string::npos || line.find(text) != std::string::npos;
}

// As the text stands inside a JSON string, without the quotes.
std::string escaped(const std::string& text) {
  std::string quoted;
  append_json_string(text, quoted);
  return quoted.substr(1, quoted.size() - 2);
}

}  // namespace

struct Index::State {
  std::string path;
  Fd directory, lock;
  Database database;
  bool in_memory = false;

  Result<void> open(bool afresh);
  Result<void> open_on_disk();
  Result<void> check_file();
  Result<void> discard();
  Result<void> in_memory_instead();

  Result<void> update();
  Result<void> update_segment(uint64_t segment);
  Result<uint64_t> where_to_go_on(uint64_t segment, int file, const struct stat& info);
  Result<uint64_t> seq_before(uint64_t segment, uint64_t offset);
  Result<void> forget(uint64_t segment, uint64_t from);
  Result<std::vector<std::string>> kinds_among(const std::vector<std::string>& wanted);
  Result<Statement> ask(const Query& query);
  Result<void> each(const Query& query, bool again, const std::function<void(Found)>& take);

  // What failed because the index is damaged is tried once more with a new one.
  template <class Work>
  auto mended(Work work) -> decltype(work()) {
    auto result = work();
    if (result || result.error().code != kBroken) return result;
    database.reset();
    lock.reset();
    if (!in_memory && discard() && open_on_disk()) {
      if (auto updated = update(); updated) return work();
    }
    TRY(in_memory_instead());
    TRY(update());
    return work();
  }
};

// The file that stands there is used if nobody else can have written to it.
Result<void> Index::State::check_file() {
  struct stat info;
  if (::fstatat(directory.get(), "index.db", &info, AT_SYMLINK_NOFOLLOW) != 0) {
    // Made here, so that it is private from the beginning; SQLite gives the files beside it the
    // same mode.
    Fd made(::openat(directory.get(), "index.db",
                     O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!made && errno != EEXIST) return errno_error(errno, "make the index of the audit log");
    return {};
  }
  if (!S_ISREG(info.st_mode) || info.st_uid != ::geteuid() || (info.st_mode & 077) != 0 ||
      info.st_nlink != 1)
    return Error{kBroken,
                 "open the index of the audit log: it is not a private file of the caller"};
  return {};
}

// All users of the index hold the lock together; whoever removes it must hold it alone.
Result<void> Index::State::open_on_disk() {
  lock =
      Fd(::openat(directory.get(), "index.lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!lock || ::flock(lock.get(), LOCK_SH) != 0)
    return errno_error(errno, "lock the index of the audit log");
  TRY(check_file());
  database = TRY(open_database(path + "/index.db", kLayout));
  return {};
}

// Removes the index; it is made again from the log.
Result<void> Index::State::discard() {
  Fd alone(
      ::openat(directory.get(), "index.lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  int tries = 10;
  while (alone && ::flock(alone.get(), LOCK_EX | LOCK_NB) != 0 && tries-- > 0) ::usleep(100'000);
  if (!alone || tries < 0)
    return Error{Code::conflict, "remove the index of the audit log: others use it"};
  for (const char* name : {"index.db-wal", "index.db-shm", "index.db-journal", "index.db"})
    if (::unlinkat(directory.get(), name, 0) != 0 && errno != ENOENT)
      return errno_error(errno, cat("remove '", name, "' of the audit log"));
  return {};
}

// For directories that are not ours, read-only or full. It is made again each time.
Result<void> Index::State::in_memory_instead() {
  lock.reset();
  in_memory = true;
  database = TRY(open_database(":memory:", kLayout));
  return {};
}

// An index on disk is only kept where nobody else can write.
Result<void> Index::State::open(bool afresh) {
  directory = Fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat info;
  if (!directory || ::fstat(directory.get(), &info) != 0)
    return errno_error(errno, cat("open the audit log '", printable(path), "'"),
                       "paddock run and paddock serve make one");
  if (info.st_uid == ::geteuid() && (info.st_mode & 022) == 0) {
    if (afresh) (void)discard();
    Result<void> opened = open_on_disk();
    if (!opened && opened.error().code == kBroken) {
      lock.reset();
      opened = discard();
      if (opened) opened = open_on_disk();
    }
    if (opened) return {};
  }
  return in_memory_instead();
}

// All lines of the segment from an offset on.
Result<void> Index::State::forget(uint64_t segment, uint64_t from) {
  Statement remove = TRY(Statement::prepare(database, "DELETE FROM line WHERE id >= ? AND id < ?"));
  return remove.add(id_of(segment, from)).add(id_of(segment + 1, 0)).run();
}

// A line without a number is sorted in by the one before it.
Result<uint64_t> Index::State::seq_before(uint64_t segment, uint64_t offset) {
  Statement last = TRY(
      Statement::prepare(database, "SELECT seq FROM line WHERE id < ? ORDER BY id DESC LIMIT 1"));
  return TRY(last.add(id_of(segment, offset)).step()) ? static_cast<uint64_t>(last.number(0)) : 0;
}

// Where reading goes on: after what is known, if the file only grew; else at the beginning. The
// file's size: nothing to do.
Result<uint64_t> Index::State::where_to_go_on(uint64_t segment, int file, const struct stat& info) {
  Statement known = TRY(Statement::prepare(
      database, "SELECT looks, done, last, last_length, last_hash FROM segment WHERE number = ?"));
  if (!TRY(known.add(static_cast<int64_t>(segment)).step())) return 0;
  uint64_t size = static_cast<uint64_t>(info.st_size),
           done = static_cast<uint64_t>(known.number(1));
  if (known.text(0) == looks_of(info)) return size;
  if (done > 0 && size > done) {
    // Whatever stands there.
    uint64_t length = std::min<uint64_t>(static_cast<uint64_t>(known.number(3)), kMostRecord);
    std::string last = TRY(read_part(file, static_cast<uint64_t>(known.number(2)), length));
    if (to_hex(sha256_bytes(last)) == known.text(4)) return done;
  }
  TRY(forget(segment, 0));
  return 0;
}

// Adds the lines of one segment that are not in the index yet.
Result<void> Index::State::update_segment(uint64_t segment) {
  Fd file = TRY(open_in(directory.get(), segment_name(segment), O_RDONLY));
  struct stat info;
  if (::fstat(file.get(), &info) != 0) return errno_error(errno, "look at the audit log");
  uint64_t size = static_cast<uint64_t>(info.st_size),
           from = TRY(where_to_go_on(segment, file.get(), info)), done = from, last = 0;
  if (from == size && size != 0) return {};
  if (size >> kOffsetBits)
    return Error{Code::exhausted, cat("index the segment '", segment_name(segment),
                                      "' of the audit log: it is too large")};
  uint64_t seq = TRY(seq_before(segment, from));
  std::string last_text;
  Statement insert =
      TRY(Statement::prepare(database, "INSERT INTO line VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  LineReader reader(file.get(), from, size);
  while (std::optional<LineReader::Text> line = TRY(reader.next())) {
    // Its end is still to come.
    if (!line->whole && TRY(read_part(file.get(), line->offset + line->size - 1, 1)) != "\n") break;
    RecordSummary summary = summarize_record(line->text);
    seq = summary.readable ? summary.seq : seq + 1;
    insert.add(id_of(segment, line->offset))
        .add(static_cast<int64_t>(line->text.size()))
        .add(static_cast<int64_t>(seq))
        .add(summary.time_us);
    for (const std::string* field : {&summary.kind, &summary.sandbox, &summary.tenant,
                                     &summary.agent, &summary.trace, &summary.verdict})
      insert.add_or_null(*field);
    TRY(insert.run());
    last = line->offset;
    last_text = line->text;
    done = line->offset + line->size;
  }
  if (done == from && from != 0) return {};  // nothing but the beginning of a line
  Statement note =
      TRY(Statement::prepare(database, "INSERT OR REPLACE INTO segment VALUES (?, ?, ?, ?, ?, ?)"));
  note.add(static_cast<int64_t>(segment))
      .add(looks_of(info))
      .add(static_cast<int64_t>(done))
      .add(static_cast<int64_t>(last));
  return note.add(static_cast<int64_t>(last_text.size()))
      .add(to_hex(sha256_bytes(last_text)))
      .run();
}

// Forgets segments that are gone, and adds what is new.
Result<void> Index::State::update() {
  std::vector<uint64_t> segments = TRY(segment_numbers(directory.get()));
  {
    Transaction transaction = TRY(Transaction::begin(database));
    std::vector<uint64_t> gone;
    Statement known = TRY(Statement::prepare(database, "SELECT number FROM segment"));
    while (TRY(known.step())) {
      uint64_t number = static_cast<uint64_t>(known.number(0));
      if (!std::binary_search(segments.begin(), segments.end(), number)) gone.push_back(number);
    }
    for (uint64_t number : gone) {
      TRY(forget(number, 0));
      TRY(execute(database, cat("DELETE FROM segment WHERE number = ", number)));
    }
    TRY(transaction.commit());
  }
  for (uint64_t segment : segments) {  // a transaction for each: what is done stays done
    Transaction transaction = TRY(Transaction::begin(database));
    TRY(update_segment(segment));
    TRY(transaction.commit());
  }
  return {};
}

// The kinds that are asked for and that there are; one more than kMostKinds at most (a log that was
// forged has any).
Result<std::vector<std::string>> Index::State::kinds_among(const std::vector<std::string>& wanted) {
  Statement kinds = TRY(Statement::prepare(
      database,
      "WITH RECURSIVE each(kind) AS (SELECT min(kind) FROM line UNION ALL SELECT (SELECT min(kind) "
      "FROM line WHERE kind > each.kind) FROM each WHERE kind IS NOT NULL) "
      "SELECT kind FROM each WHERE kind IS NOT NULL"));
  std::vector<std::string> found;
  while (found.size() <= kMostKinds && TRY(kinds.step()))
    if (is_of_kind(kinds.text(0), wanted)) found.push_back(kinds.text(0));
  return found;
}

namespace {

using Bound = std::variant<int64_t, std::string>;

// A part of a WHERE clause with what is bound to its question marks.
struct Condition {
  std::string text;
  std::vector<Bound> values;

  void add(const std::string& term, Bound value) {
    text += cat(" AND ", term, " ?");
    values.push_back(std::move(value));
  }
  void add_bound(const std::string& term, std::optional<int64_t> number) {
    if (number) add(term, *number);
  }
};

// SQLite has signed numbers only.
std::optional<int64_t> as_number(std::optional<uint64_t> seq) {
  if (!seq) return std::nullopt;
  return static_cast<int64_t>(std::min<uint64_t>(*seq, INT64_MAX));
}

// SQLite is not left to guess which index to take: the first of the fields in this order, and a '+'
// keeps it from using those of the others. `by_kind`: it is the index of kinds.
Condition fields_of(const Query& query, bool& by_kind) {
  Condition fields;
  bool guided = false;
  auto same = [&](const char* column, const std::string& text) {
    if (text.empty()) return;
    fields.add(cat(guided ? "+" : "", column, " ="), text);
    guided = true;
  };
  same("trace", query.trace);
  same("sandbox", query.sandbox);
  same("agent", query.agent);
  by_kind = !guided && !query.kinds.empty();
  guided |= by_kind;
  if (!guided && query.verdict == "deny") {
    fields.text += " AND verdict = 'deny'";
    guided = true;
  } else if (!query.verdict.empty()) {
    fields.add("+verdict =", query.verdict);
  }
  same("tenant", query.tenant);
  // The newest of a time that is not over are the first on the way back: no index of times is
  // needed for them.
  const char* time = guided || (query.newest_first && !query.until_us) ? "+time_us" : "time_us";
  fields.add_bound(cat(time, " >="), query.since_us);
  fields.add_bound(cat(time, " <"), query.until_us);
  return fields;
}

// Any of these kinds, or of their families, when there are too many for a selection each.
Condition any_kind_of(const std::vector<std::string>& kinds) {
  Condition any{"+kind IS NOT NULL", {}};
  for (size_t i = 0; i < kinds.size(); ++i) {
    any.text += cat(i == 0 ? " AND (" : " OR ", "+kind = ? OR (+kind > ? AND +kind < ?)");
    for (const char* end : {"", ".", "/"})
      any.values.emplace_back(kinds[i] + end);  // '/' follows '.'
  }
  if (!kinds.empty()) any.text += ")";
  return any;
}

}  // namespace

// One selection, or one for each kind, and one of lines that are not records; merged in order.
Result<Statement> Index::State::ask(const Query& query) {
  bool by_kind = false;
  Condition fields = fields_of(query, by_kind), place;
  place.add_bound("seq >", as_number(query.after));
  place.add_bound("seq <", as_number(query.before));

  std::string sql;
  std::vector<Bound> all;
  auto select = [&](const Condition& which, const Condition& more) {
    sql += cat(sql.empty() ? "" : " UNION ALL ", "SELECT id, length, seq FROM line WHERE ",
               which.text, more.text, place.text);
    for (const Condition* part : std::initializer_list<const Condition*>{&which, &more, &place})
      all.insert(all.end(), part->values.begin(), part->values.end());
  };
  std::vector<std::string> kinds =
      query.kinds.empty() ? query.kinds : TRY(kinds_among(query.kinds));
  if (query.kinds.empty() || kinds.size() > kMostKinds)
    select(any_kind_of(query.kinds), fields);
  else
    for (const std::string& kind : kinds)
      select({by_kind ? "kind = ?" : "+kind = ?", {kind}}, fields);
  if (query.unreadable || sql.empty()) select({"kind IS NULL", {}}, {});
  sql += query.newest_first ? " ORDER BY seq DESC, id DESC" : " ORDER BY seq, id";
  Statement statement = TRY(Statement::prepare(database, sql));
  for (const Bound& value : all) {
    if (auto* number = std::get_if<int64_t>(&value))
      statement.add(*number);
    else
      statement.add(std::string_view(std::get<std::string>(value)));
  }
  return statement;
}

// `again`: the index is fresh, so what does not fit is what stands in the log.
Result<void> Index::State::each(const Query& query, bool again,
                                const std::function<void(Found)>& take) {
  std::map<uint64_t, Fd> files;
  std::string text = escaped(query.text);
  uint64_t searched = 0, bytes = 0;
  Statement rows = TRY(ask(query));
  for (size_t count = 0; count < query.limit && bytes < query.most_bytes && TRY(rows.step());) {
    int64_t id = rows.number(0);
    Found found{.seq = static_cast<uint64_t>(rows.number(2)),
                .segment = segment_name(segment_of(id)),
                .offset = offset_of(id)};
    Fd& file = files[segment_of(id)];
    if (!file) {
      Result<Fd> opened = open_in(directory.get(), found.segment, O_RDONLY);
      if (!opened && again) continue;  // retired this moment
      if (!opened) return Error{Code::conflict, opened.error().message};
      file = std::move(opened).value();
    }
    Result<std::string> line =
        read_part(file.get(), found.offset,
                  std::min<uint64_t>(static_cast<uint64_t>(rows.number(1)), kMostRecord));
    if (!line && again) continue;
    found.line = TRY(std::move(line));
    if (!query.text.empty()) {
      searched += found.line.size();
      if (searched > query.most_searched)
        return Error{Code::exhausted, "search the audit log: too much to look through",
                     "narrow it by time, sandbox or kind"};
      if (!has_text(found.line, query.text, text)) continue;
    }
    RecordSummary summary = summarize_record(found.line);
    if (!again && (!summary.damage.empty() || !matches(query, summary)))
      return Error{Code::conflict, "read the audit log: it is not what was indexed"};
    if (!matches(query, summary)) continue;
    found.damage = std::move(summary.damage);
    ++count;
    bytes += found.line.size();
    take(std::move(found));
  }
  return {};
}

// A damaged line is wrapped, since it may not be JSON itself.
std::string as_json(const Found& found) {
  if (found.damage.empty()) return found.line;
  Value value;
  value.set("damaged", found.damage);
  value.set("seq", found.seq);
  value.set("segment", found.segment);
  value.set("offset", found.offset);
  value.set("line", found.line);
  return to_json(value);
}

Index::Index(std::unique_ptr<State> state) : state_(std::move(state)) {}
Index::Index(Index&&) noexcept = default;
Index::~Index() = default;

Result<Index> Index::open(const std::string& log_directory) {
  auto state = std::make_unique<State>();
  state->path = log_directory;
  TRY(state->open(false));
  return Index(std::move(state));
}

bool Index::in_memory() const { return state_->in_memory; }

// A conflict means that the log changed while it was read, and is worth one more try. Without room
// on the disk the index is made in memory.
Result<void> Index::update() {
  Result<void> updated = state_->mended([&] { return state_->update(); });
  // It changed while it was read.
  if (!updated && updated.error().code == Code::conflict) updated = state_->update();
  if (updated || state_->in_memory) return updated;
  TRY(state_->in_memory_instead());  // no room for it, most likely
  return state_->update();
}

// If a line is not where the index says, the index is brought up to date once. After that it is the
// log that is damaged.
Result<std::vector<Found>> Index::find(const Query& query) {
  auto collect = [&](bool again) -> Result<std::vector<Found>> {
    std::vector<Found> all;
    TRY(state_->each(query, again, [&](Found found) { all.push_back(std::move(found)); }));
    return all;
  };
  Result<std::vector<Found>> found = state_->mended([&] { return collect(false); });
  if (found || found.error().code != Code::conflict) return found;
  TRY(update());
  return state_->mended([&] { return collect(true); });
}

Result<void> Index::each(const Query& query, const std::function<void(Found)>& take) {
  return state_->each(query, true, take);
}

// Also empties the tables, for the case that others hold the index and the file cannot be removed.
Result<uint64_t> Index::rebuild(const std::string& log_directory) {
  Index index(std::make_unique<State>());
  index.state_->path = log_directory;
  TRY(index.state_->open(true));
  // When others use it.
  for (const char* text : {"DELETE FROM line", "DELETE FROM segment"})
    TRY(execute(index.state_->database, text));
  TRY(index.update());
  return static_cast<uint64_t>(TRY(number_of(index.state_->database, "SELECT count(*) FROM line")));
}

}  // namespace paddock::audit
