// How large a value from outside is, before anything slower looks at it.
#pragma once

#include "base/value.h"

namespace paddock {

// Adds the values in `value`, itself included, to `count`; stops once there are more than `most`.
inline void count_values(const Value& value, size_t most, size_t& count) {
  ++count;
  if (const Value::Array* array = value.as_array())
    for (size_t i = 0; i < array->size() && count <= most; ++i)
      count_values((*array)[i], most, count);
  if (const Value::Object* object = value.as_object())
    for (size_t i = 0; i < object->size() && count <= most; ++i)
      count_values((*object)[i].second, most, count);
}

inline bool has_more_values(const Value& value, size_t most) {
  size_t count = 0;
  count_values(value, most, count);
  return count > most;
}

}  // namespace paddock
