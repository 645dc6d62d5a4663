// What PyTorch tells its observers, passed on to the recorder of mindtorch_v2.
//
// Built for the very PyTorch that it is loaded beside: it reads PyTorch's own structs. It keeps nothing of what it is told; what is
// recorded, and how, is the matter of the table of functions that it is given. No exception leaves it.

#include "observer.h"
#include "operators.h"
#include "place.h"
#include "tables.h"

#include <c10/core/ScalarType.h>
#include <c10/core/ScalarTypeToTypeMeta.h>
#include <torch/version.h>

#include <cstdint>
#include <string>

#ifndef NDEBUG
#error "PyTorch's structs have other members without NDEBUG"
#endif

namespace {

const char* type_name(uint8_t type) {
  try {
    const auto scalar = static_cast<c10::ScalarType>(type);
    if (type >= static_cast<uint8_t>(c10::ScalarType::Undefined)) {
      return nullptr;
    }
    // Names are for ever, but are not always followed by a zero.
    const auto name = c10::scalarTypeToTypeMeta(scalar).name();
    static std::string names[256];
    names[type].assign(name.data(), name.size());
    return names[type].c_str();
  } catch (...) {
    return nullptr;
  }
}

const char* built_for() {
  return MINDTORCH_BUILT_FOR;
}

const Shim shim{VERSION, &built_for, &observe, &ignore, &want_memory, &take_place, &leave_place, &type_name};

} // namespace

// Takes the recorder's table, which is for ever, and gives the shim's; nothing if the recorder is of another version.
extern "C" __attribute__((visibility("default"))) const void* mindtorch_bridge(const void* table) {
  const auto* given = static_cast<const Recorder*>(table);
  if (given->version != VERSION) {
    return nullptr;
  }
  OperatorReach::watch();
  hot.recorder = *given;
  return &shim;
}
