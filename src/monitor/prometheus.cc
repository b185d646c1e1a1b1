#include "monitor/prometheus.h"

#include <charconv>
#include <cmath>

#include "base/text.h"

namespace paddock::monitor {

namespace {

// In help texts quotes stay as they are; in labels they would end the value.
void append_escaped(std::string_view text, bool in_quotes, std::string& out) {
  for (char c : to_utf8(text)) {
    if (c == '\\')
      out += "\\\\";
    else if (c == '\n')
      out += "\\n";
    else if (c == '"' && in_quotes)
      out += "\\\"";
    else
      out += c;
  }
}

void append_label(std::string_view name, std::string_view value, bool first, std::string& out) {
  if (!first) out += ',';
  out += name;
  out += "=\"";
  append_escaped(value, true, out);
  out += '"';
}

}  // namespace

std::string prometheus_number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  char digits[40];
  // The shortest that reads back the same.
  std::to_chars_result end = std::to_chars(digits, digits + sizeof digits, value);
  return std::string(digits, end.ptr);
}

void Exposition::metric(const char* name, Type type, std::string_view help) {
  name_ = name;
  text_ += cat("# HELP ", name, " ");
  append_escaped(help, false, text_);
  text_ += cat("\n# TYPE ", name, " ",
               type == Type::counter ? "counter"
               : type == Type::gauge ? "gauge"
                                     : "histogram",
               "\n");
}

// One line. Histograms add a label of their own ("le") after the others.
void Exposition::line(std::string_view suffix, Labels labels, std::string_view more_name,
                      std::string_view more_value, std::string_view value) {
  text_ += name_;
  text_ += suffix;
  if (labels.size() || !more_name.empty()) {
    text_ += '{';
    bool first = true;
    for (const Label& label : labels) {
      append_label(label.first, label.second, first, text_);
      first = false;
    }
    if (!more_name.empty()) append_label(more_name, more_value, first, text_);
    text_ += '}';
  }
  text_ += ' ';
  text_ += value;
  text_ += '\n';
}

void Exposition::sample(Labels labels, double value) {
  line("", labels, "", "", prometheus_number(value));
}
void Exposition::sample(Labels labels, uint64_t value) {
  line("", labels, "", "", std::to_string(value));
}

// Prometheus wants buckets that include all smaller ones.
void Exposition::histogram(Labels labels, const std::vector<double>& bounds,
                           const std::vector<uint64_t>& counts, double sum) {
  uint64_t all = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    all += counts[i];
    line("_bucket", labels, "le", i < bounds.size() ? prometheus_number(bounds[i]) : "+Inf",
         std::to_string(all));
  }
  line("_sum", labels, "", "", prometheus_number(sum));
  line("_count", labels, "", "", std::to_string(all));
}

}  // namespace paddock::monitor
