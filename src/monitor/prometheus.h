// Prometheus' text exposition format, version 0.0.4: what GET /metrics answers.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace paddock::monitor {

class Exposition {
 public:
  enum class Type : uint8_t { counter, gauge, histogram };
  using Label = std::pair<std::string_view, std::string_view>;
  using Labels = std::initializer_list<Label>;

  // Begins a metric; its samples follow. `name` and the labels' names must be [a-z_][a-z0-9_]*,
  // since they are ours. `help` and the values of labels may be anything: what would break a line
  // or is not UTF-8 is escaped or replaced.
  void metric(const char* name, Type type, std::string_view help);
  void sample(Labels labels, double value);
  void sample(Labels labels, uint64_t value);  // exactly, also above 2^53
  // `counts` has for each of `bounds` the number of values up to it and above the one before; its
  // last entry counts those that are larger.
  void histogram(Labels labels, const std::vector<double>& bounds,
                 const std::vector<uint64_t>& counts, double sum);

  const std::string& text() const { return text_; }

 private:
  void line(std::string_view suffix, Labels labels, std::string_view more_name,
            std::string_view more_value, std::string_view value);
  std::string text_;
  std::string name_;
};

std::string prometheus_number(double value);

}  // namespace paddock::monitor
