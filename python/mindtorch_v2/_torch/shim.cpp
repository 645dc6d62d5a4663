// What PyTorch tells its observers, passed on to the recorder of mindtorch_v2.
//
// Built for the very PyTorch that it is loaded beside: it reads PyTorch's own structs. It keeps nothing and decides nothing;
// what is recorded, and how, is the matter of the table of functions that it is given. No exception leaves it.

#include <ATen/core/Tensor.h>
#include <ATen/core/function_schema.h>
#include <ATen/record_function.h>
#include <c10/core/Allocator.h>
#include <c10/core/ScalarType.h>
#include <c10/core/ScalarTypeToTypeMeta.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <torch/csrc/profiler/orchestration/observer.h>
#include <torch/version.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <variant>

#ifndef NDEBUG
#error "PyTorch's structs have other members without NDEBUG"
#endif

namespace {

// Of both tables. Changed with any change of what they or the words of inputs mean.
constexpr uint32_t VERSION = 6;

struct Text {
  const char* start;
  size_t length;
};

struct Op {
  Text name;
  // Empty if it was not asked for.
  Text overload;
  // Inputs as words; see `encode`.
  const uint64_t* inputs;
  size_t input_words;
  // Whether it has inputs of which the words are left out.
  bool lacks_inputs;
  // By which name and inputs are known; see `Hash`. Zeros if they need not be remembered.
  uint64_t hash[2];
  // -1 is none.
  int64_t sequence;
  uint64_t thread;
  uint64_t forward_thread;
  uint64_t scope;
};

// What the recorder does.
struct Recorder {
  uint32_t version;
  // An operator of this thread that has this hash, and ends here. The key tells it from others that are open. False if it has to
  // be told in full.
  bool (*begin_known)(const void* key, int64_t sequence, uint64_t one, uint64_t other);
  // A node of the backward pass.
  bool (*begin_known_node)(const void* key, int64_t sequence, uint64_t one, uint64_t other, uint64_t forward_thread);
  void (*end)(const void* key);
  void (*memory)(uint64_t address, int64_t bytes, uint64_t allocated, uint64_t reserved, int32_t type, int32_t index);
  // Any operation of this thread. False if the words of its inputs have to be told.
  bool (*begin)(const void* key, const Op* op);
  // One that may end on another thread.
  void* (*begin_anywhere)(const Op* op);
  void (*end_anywhere)(void* span);
};

// What this library does.
struct Shim {
  uint32_t version;
  // The version of PyTorch that it was built for.
  const char* (*torch)();
  // Observes operations from now on, with their inputs and the names of their overloads, or without. 0 if PyTorch refuses.
  uint64_t (*observe)(bool inputs, bool overloads);
  void (*ignore)(uint64_t handle);
  // Sees the memory of all threads from now on, or none.
  void (*want_memory)(bool memory);
  // Is on this thread what PyTorch takes for a profiler, which wants inputs of scopes or does not. It may have asked for the
  // thread's memory. False if another profiler is.
  bool (*take_place)(bool inputs, bool asks_for_memory);
  // Is no longer; if the thread's memory was asked for and still is, only if so.
  void (*leave_place)(bool even_with_memory);
  // The name of a type of elements, or none.
  const char* (*type_name)(uint8_t type);
};

// What is not as it mostly is.
enum Unusual : uint32_t {
  // There is no observer, or one after another.
  OBSERVERS = 1,
  // The names of overloads were asked for, so that every operation is told in full.
  OVERLOADS = 2,
  // Memory is recorded, on any thread.
  MEMORY = 4,
};

// What each operation needs, in one line of the processor's cache.
struct alignas(64) Hot {
  std::atomic<uint32_t> unusual{OBSERVERS};
  Recorder recorder{};
};

Hot hot;
const Recorder& recorder = hot.recorder;

uint32_t unusual() {
  return hot.unusual.load(std::memory_order_relaxed);
}

// Called by one thread at a time.
void set_unusual(Unusual what, bool is) {
  hot.unusual.store(is ? unusual() | what : unusual() & ~what, std::memory_order_relaxed);
}

// The first word of an input: what it is, the type of its elements, and how many there are.
enum Kind : uint64_t { TENSOR, UNSTRIDED, LIST, NONE, INT, FLOAT, BOOL, INTS, FLOATS, BOOLS, TEXT, KEYWORD };

// Lists that are longer are not shown, as PyTorch does it.
constexpr size_t LONGEST_LIST = 30;

constexpr uint64_t first_word(Kind kind, uint64_t type, uint64_t count) {
  return kind | type << 8 | count << 16;
}

uint64_t bits(double value) {
  uint64_t word;
  std::memcpy(&word, &value, sizeof word);
  return word;
}

using Keywords = std::unordered_map<std::string, at::IValue>;

#ifdef MINDTORCH_REACH
// What PyTorch copies or calls a function for, taken where it is: each operator would pay for it. What is named to instantiate a
// template may be private. Where these members are not there, this is built without.
using Described = std::variant<std::string, std::reference_wrapper<const c10::FunctionSchema>>;

const Keywords& keywords_of(const at::RecordFunction& function);
const Described& described(const at::RecordFunction& function);
int64_t int_of(const at::IValue& value);
uint64_t tag_of(const at::IValue& value);

template <auto Kwinputs, auto Fn, auto Payload, auto Tag>
struct Reach {
  // What is something else would be converted, and the reference be to nothing.
  static_assert(std::is_same_v<decltype(Kwinputs), Keywords at::RecordFunction::*>);
  static_assert(std::is_same_v<decltype(Fn), Described at::RecordFunction::*>);

  friend const Keywords& keywords_of(const at::RecordFunction& function) {
    return function.*Kwinputs;
  }
  friend const Described& described(const at::RecordFunction& function) {
    return function.*Fn;
  }
  friend int64_t int_of(const at::IValue& value) {
    return (value.*Payload).u.as_int;
  }
  friend uint64_t tag_of(const at::IValue& value) {
    return static_cast<uint64_t>(value.*Tag);
  }
};

template struct Reach<&at::RecordFunction::kwinputs_, &at::RecordFunction::fn_, &at::IValue::payload, &at::IValue::tag>;

// What a number is, and none, without asking which of them it is. Of what is true or false, only a byte is written.
inline uint64_t bits_of(const at::IValue& value) {
  const auto bits = static_cast<uint64_t>(int_of(value));
  return value.isBool() ? bits & 0xff : bits;
}

inline const std::string& name_of(const at::RecordFunction& function) {
  const auto* text = std::get_if<0>(&described(function));
  return text != nullptr ? *text : std::get_if<1>(&described(function))->get().name();
}
#else
// Some of the older versions have none.
template <typename Function>
Keywords keywords_of(const Function& function) {
  if constexpr (requires { function.kwinputs(); }) {
    return function.kwinputs();
  } else {
    return {};
  }
}

std::string_view name_of(const at::RecordFunction& function) {
  return function.name();
}

int64_t int_of(const at::IValue& value) {
  return value.toInt();
}

uint64_t tag_of(const at::IValue& value) {
  return value.isNone() ? 0 : value.isInt() ? 1 : value.isDouble() ? 2 : 3;
}

uint64_t bits_of(const at::IValue& value) {
  return value.isInt() ? int_of(value) : value.isDouble() ? bits(value.toDouble()) : value.isBool() ? value.toBool() : 0;
}
#endif

// The words of an operation's inputs: on the stack, unless they are many.
class Words {
 public:
  Words() = default;
  Words(const Words&) = delete;
  Words& operator=(const Words&) = delete;

  const uint64_t* data() const {
    return words_;
  }

  size_t size() const {
    return length_;
  }

  // Room for so many more.
  uint64_t* add(size_t count) {
    if (length_ + count > capacity_) {
      grow(length_ + count);
    }
    uint64_t* place = words_ + length_;
    length_ += count;
    return place;
  }

  void push(uint64_t word) {
    *add(1) = word;
  }

  void push(uint64_t first, uint64_t second) {
    uint64_t* place = add(2);
    place[0] = first;
    place[1] = second;
  }

  void push_scalar(const at::IValue& value) {
    if (value.isNone()) {
      push(first_word(NONE, 0, 0));
    } else {
      push(first_word(value.isInt() ? INT : value.isDouble() ? FLOAT : BOOL, 0, 0), bits_of(value));
    }
  }

  void push_tensor(uint64_t first, c10::IntArrayRef sizes, c10::IntArrayRef strides) {
    uint64_t* place = add(1 + sizes.size() + strides.size());
    *place = first;
    std::copy(strides.begin(), strides.end(), std::copy(sizes.begin(), sizes.end(), place + 1));
  }

 private:
  __attribute__((noinline, cold)) void grow(size_t least) {
    std::unique_ptr<uint64_t[]> more(new uint64_t[2 * least]);
    std::copy(words_, words_ + length_, more.get());
    more_ = std::move(more);
    words_ = more_.get();
    capacity_ = 2 * least;
  }

  static constexpr size_t FEW = 128;

  uint64_t few_[FEW];
  std::unique_ptr<uint64_t[]> more_;
  uint64_t* words_ = few_;
  size_t length_ = 0;
  size_t capacity_ = FEW;
};

// A hash of an operation's name and of what `Words` would hold of its inputs, by which the recorder knows operations that it was
// told before.
class Hash {
 public:
  explicit Hash(std::string_view name) {
    // In all bits, as texts are.
    const uint64_t length = name.size() * ODD[0];
    one_ ^= length;
    other_ ^= length;
    const char* text = name.data();
    const char* const end = text + name.size();
    if (C10_UNLIKELY(name.size() < 8)) {
      char few[8] = {};
      std::memcpy(few, text, name.size());
      push(word(few));
      return;
    }
    for (; end - text > 16; text += 16) {
      push(word(text), word(text + 8));
    }
    // The last 16 bytes, or all that there are.
    push(word(name.size() > 16 ? end - 16 : text), word(end - 8));
  }

  uint64_t one() const {
    return one_;
  }

  uint64_t other() const {
    return other_;
  }

  void push(uint64_t first, uint64_t second = 0) {
    // The two halves do not wait for each other.
    one_ = folded(first ^ ODD[0], second ^ one_);
    other_ = folded(second ^ ODD[1], first ^ other_);
  }

  void push_scalar(const at::IValue& value) {
    // No first word is as high.
    push(tag_of(value) | uint64_t{1} << 63, bits_of(value));
  }

  // There are as many strides as sizes, or none. The first word is above them: few are as long as that.
  void push_tensor(uint64_t first, c10::IntArrayRef sizes, c10::IntArrayRef strides) {
    one_ ^= first << 32;
    other_ ^= first << 32;
    const int64_t* second = strides.empty() ? sizes.data() : strides.data();
    size_t at = 0;
    do {
      push(sizes.empty() ? 0 : sizes[at], sizes.empty() ? 0 : second[at]);
    } while (++at < sizes.size());
  }

  void push_all(const Words& words) {
    std::for_each(words.data(), words.data() + words.size(), [this](uint64_t word) { push(word); });
  }

 private:
  static uint64_t word(const char* text) {
    uint64_t word;
    std::memcpy(&word, text, sizeof word);
    return word;
  }

  // A product of 128 bits, in 64 of which each depends on all that went into it.
  static uint64_t folded(uint64_t a, uint64_t b) {
    const auto product = static_cast<unsigned __int128>(a) * b;
    return static_cast<uint64_t>(product >> 64) ^ static_cast<uint64_t>(product);
  }

  // Digits of pi, made odd, which nothing in a program is by chance.
  static constexpr uint64_t ODD[4] = {0xa4093822299f31d1, 0x082efa98ec4e6c89, 0x243f6a8885a308d3, 0x13198a2e03707345};

  uint64_t one_ = ODD[2];
  uint64_t other_ = ODD[3];
};

// Both, of the same look at an input.
struct Both {
  Words& words;
  Hash& hash;

  void push(uint64_t word) {
    words.push(word);
    hash.push(word);
  }

  void push(uint64_t first, uint64_t second) {
    words.push(first, second);
    hash.push(first, second);
  }

  void push_scalar(const at::IValue& value) {
    words.push_scalar(value);
    hash.push_scalar(value);
  }

  void push_tensor(uint64_t first, c10::IntArrayRef sizes, c10::IntArrayRef strides) {
    words.push_tensor(first, sizes, strides);
    hash.push_tensor(first, sizes, strides);
  }
};

// Inputs go to a `Hash`, to `Words`, or to both.
template <typename Sink>
inline __attribute__((always_inline)) void encode(Sink& sink, const at::Tensor& tensor) {
  const auto* impl = tensor.unsafeGetTensorImpl();
  if (!tensor.defined() || impl->is_nested() || impl->has_symbolic_sizes_strides()) {
    sink.push(first_word(NONE, 0, 0));
    return;
  }
  const auto sizes = impl->sizes();
  const auto type = static_cast<uint64_t>(tensor.scalar_type());
  const auto strides = impl->layout() == at::kStrided ? impl->strides() : c10::IntArrayRef();
  // Tensors of classes of their own may say anything.
  if (strides.size() == sizes.size()) {
    sink.push_tensor(first_word(TENSOR, type, sizes.size()), sizes, strides);
  } else {
    sink.push_tensor(first_word(UNSTRIDED, type, sizes.size()), sizes, {});
  }
}

template <typename Sink>
void encode_tensors(Sink& sink, c10::ArrayRef<at::IValue> tensors) {
  sink.push(first_word(LIST, 0, tensors.size()));
  for (const auto& tensor : tensors) {
    encode(sink, tensor.toTensor());
  }
}

template <typename Sink>
void encode_numbers(Sink& sink, c10::ArrayRef<at::IValue> list) {
  const Kind kind = list.empty() ? INTS : list[0].isDouble() ? FLOATS : list[0].isBool() ? BOOLS : INTS;
  sink.push(first_word(kind, 0, list.size()));
  for (const auto& item : list) {
    sink.push(
        item.isInt() ? static_cast<uint64_t>(int_of(item))
            : item.isDouble() ? bits(item.toDouble())
            : item.isBool() ? static_cast<uint64_t>(item.toBool())
                            : 0);
  }
}

template <typename Sink>
void encode_list(Sink& sink, const at::IValue& value) {
  const auto list = value.toListRef();
  // PyTorch compares types to tell lists of tensors, which takes long, and what is in most lists tells that they are none.
  if ((list.empty() || list[0].isTensor()) && value.isTensorList()) {
    encode_tensors(sink, list);
  } else if (list.empty() || (list.size() <= LONGEST_LIST && (list[0].isInt() || list[0].isDouble() || list[0].isBool()))) {
    encode_numbers(sink, list);
  } else {
    sink.push(first_word(NONE, 0, 0));
  }
}

// What is seldom given comes last.
template <typename Sink>
void encode_other(Sink& sink, const at::IValue& value) {
  if (value.isList()) {
    encode_list(sink, value);
  } else {
    sink.push(first_word(NONE, 0, 0));
  }
}

// Apart. A hash is given and taken, so that it can stay where the processor computes.
__attribute__((noinline)) Hash with_other(Hash hash, const at::IValue& value) {
  encode_other(hash, value);
  return hash;
}

// Tensors are what most inputs are, and numbers or nothing what most others are: no more is done for them than has to be.
template <typename Sink>
inline __attribute__((always_inline)) void encode(Sink& sink, const at::IValue& value) {
  if (C10_LIKELY(value.isTensor())) {
    encode(sink, value.toTensor());
  } else if (C10_LIKELY(value.isNone() || value.isBool() || value.isInt() || value.isDouble())) {
    sink.push_scalar(value);
  } else if constexpr (std::is_same_v<Sink, Hash>) {
    sink = with_other(sink, value);
  } else {
    encode_other(sink, value);
  }
}

inline __attribute__((always_inline)) Hash hash_of(std::string_view name, c10::ArrayRef<const at::IValue> inputs) {
  Hash hash(name);
  for (const auto& input : inputs) {
    encode(hash, input);
  }
  return hash;
}

void encode_text(Words& words, Kind kind, const std::string& text) {
  words.push(first_word(kind, 0, text.size()));
  const size_t count = (text.size() + 7) / 8;
  uint64_t* place = words.add(count);
  if (count > 0) {
    place[count - 1] = 0;
    std::memcpy(place, text.data(), text.size());
  }
}

// What has a keyword may be a string, or a list of strings.
void encode_value(Words& words, const at::IValue& value) {
  if (value.isString()) {
    encode_text(words, TEXT, value.toStringRef());
  } else if (value.isList() && !value.toListRef().empty() && value.toListRef()[0].isString()) {
    const auto items = value.toListRef();
    words.push(first_word(LIST, 0, items.size()));
    for (const auto& item : items) {
      encode_value(words, item);
    }
  } else {
    encode(words, value);
  }
}

__attribute__((noinline)) void encode_keywords(Words& words, const Keywords& keywords) {
  for (const auto& [keyword, value] : keywords) {
    encode_text(words, KEYWORD, keyword);
    encode_value(words, value);
  }
}

// Only to be freed with the span in it.
struct Anywhere : at::ObserverContext {
  explicit Anywhere(void* span) : span(span) {}
  void* span;
};

bool ends_anywhere(at::RecordScope scope) {
  return scope != at::RecordScope::FUNCTION && scope != at::RecordScope::BACKWARD_FUNCTION;
}

// Older versions do not tell this.
template <typename Function>
std::string_view overload_of(const Function& function) {
  if constexpr (requires { function.overload_name(); }) {
    return function.overload_name();
  } else {
    return {};
  }
}

Text text_of(std::string_view text) {
  return {text.data(), text.size()};
}

Op op_of(const at::RecordFunction& function) {
  return {
      text_of(name_of(function)),
      text_of((unusual() & OVERLOADS) != 0 ? overload_of(function) : std::string_view()),
      nullptr,
      0,
      false,
      {0, 0},
      function.seqNr(),
      function.threadId(),
      function.forwardThreadId(),
      static_cast<uint64_t>(function.scope())};
}

std::unique_ptr<at::ObserverContext> begin_anywhere(const Op& op) {
  return std::make_unique<Anywhere>(recorder.begin_anywhere(&op));
}

// With the words of its inputs. They are looked at once, so that words and hash are of the same.
__attribute__((noinline)) std::unique_ptr<at::ObserverContext> begin_with_words(const at::RecordFunction& function, Op op) {
  Words words;
  Hash hash(name_of(function));
  Both both{words, hash};
  for (const auto& input : function.inputs()) {
    encode(both, input);
  }
  if (const auto& keywords = keywords_of(function); !keywords.empty()) {
    encode_keywords(words, keywords);
    hash.push_all(words);
  }
  op.inputs = words.data();
  op.input_words = words.size();
  op.lacks_inputs = false;
  if (ends_anywhere(function.scope())) {
    return begin_anywhere(op);
  }
  op.hash[0] = hash.one();
  op.hash[1] = hash.other();
  recorder.begin(&function, &op);
  return nullptr;
}

// An operation of which there is more to tell than most have, or one that the recorder does not know.
template <bool Inputs>
__attribute__((noinline)) std::unique_ptr<at::ObserverContext> begin_in_full(const at::RecordFunction& function) noexcept {
  try {
    Op op = op_of(function);
    if (Inputs && (ends_anywhere(function.scope()) || !keywords_of(function).empty())) {
      return begin_with_words(function, op);
    }
    if (ends_anywhere(function.scope())) {
      return begin_anywhere(op);
    }
    const auto inputs = Inputs ? function.inputs() : c10::ArrayRef<const at::IValue>();
    const Hash hash = hash_of(name_of(function), inputs);
    op.lacks_inputs = !inputs.empty();
    op.hash[0] = hash.one();
    op.hash[1] = hash.other();
    return recorder.begin(&function, &op) ? nullptr : begin_with_words(function, op);
  } catch (...) {
    // An input that cannot be looked at. The operation goes on, and is not recorded.
    return nullptr;
  }
}

// Whether it was enough to say so little.
template <bool Inputs>
inline __attribute__((always_inline)) bool begin_briefly(const at::RecordFunction& function) {
  try {
    if (Inputs && !keywords_of(function).empty()) {
      return false;
    }
    const auto inputs = Inputs ? function.inputs() : c10::ArrayRef<const at::IValue>();
    const Hash hash = hash_of(name_of(function), inputs);
    if (C10_LIKELY(function.scope() == at::RecordScope::FUNCTION)) {
      return recorder.begin_known(&function, function.seqNr(), hash.one(), hash.other());
    }
    return recorder.begin_known_node(
        &function, function.seqNr(), hash.one(), hash.other(), function.forwardThreadId());
  } catch (...) {
    // As above.
    return true;
  }
}

namespace torch_profiler = torch::profiler::impl;

bool wants_memory() {
  return (unusual() & MEMORY) != 0;
}

// How often that began.
std::atomic<uint64_t> memory_turn{0};
// The latest for which this thread has asked itself: PyTorch's own profiler cannot have its memory then.
thread_local uint64_t asked_in_turn = 0;

// What PyTorch takes for its own profiler's state. While there is one on a thread, the scopes of compiled code are made, with
// their inputs if the state says that they are wanted, and memory is reported to it.
struct Place : torch_profiler::ProfilerStateBase {
  explicit Place(bool inputs)
      : ProfilerStateBase(torch_profiler::ProfilerConfig(torch_profiler::ProfilerState::CPU, inputs)), inputs(inputs) {}

  torch_profiler::ActiveProfilerType profilerType() override {
    return torch_profiler::ActiveProfilerType::NONE;
  }

  // One that is left on a thread costs it nothing.
  bool memoryProfilingEnabled() const override {
    return wants_memory();
  }

  void reportMemoryUsage(void* address, int64_t bytes, size_t allocated, size_t reserved, c10::Device device) override {
    recorder.memory(
        reinterpret_cast<uint64_t>(address), bytes, allocated, reserved, static_cast<int32_t>(device.type()), device.index());
  }

  const bool inputs;
};

c10::DebugInfoBase* on_this_thread() {
  return c10::ThreadLocalDebugInfo::get(c10::DebugInfoKind::PROFILER_STATE);
}

void push_place(bool inputs) {
  c10::ThreadLocalDebugInfo::_push(c10::DebugInfoKind::PROFILER_STATE, std::make_shared<Place>(inputs));
}

// This and what follows is called by one thread at a time, as `observe` and `ignore` are.
void want_memory(bool memory) {
  if (memory && !wants_memory()) {
    ++memory_turn;
  }
  set_unusual(MEMORY, memory);
}

bool take_place(bool inputs, bool asks_for_memory) {
  try {
    const auto* there = on_this_thread();
    const auto* place = dynamic_cast<const Place*>(there);
    if (there != nullptr && place == nullptr) {
      return false;
    }
    if (place != nullptr && place->inputs != inputs) {
      c10::ThreadLocalDebugInfo::_pop(c10::DebugInfoKind::PROFILER_STATE);
      place = nullptr;
    }
    if (place == nullptr) {
      push_place(inputs);
    }
    if (asks_for_memory) {
      want_memory(true);
      asked_in_turn = memory_turn;
    }
    return true;
  } catch (...) {
    return false;
  }
}

void leave_place(bool even_with_memory) {
  try {
    const bool has_memory = wants_memory() && asked_in_turn == memory_turn;
    if (dynamic_cast<const Place*>(on_this_thread()) != nullptr && (even_with_memory || !has_memory)) {
      c10::ThreadLocalDebugInfo::_pop(c10::DebugInfoKind::PROFILER_STATE);
    }
  } catch (...) {
    // Someone is in the middle of something there. It costs nothing, and is left the next time.
  }
}

// Threads that Python starts have nothing of the one that started them, the place included. It is asked each time, since what a
// node of a graph is run with, the place included, is gone after it.
__attribute__((noinline)) void see_memory_here(bool inputs) noexcept {
  try {
    if (on_this_thread() == nullptr) {
      push_place(inputs);
    }
  } catch (...) {
    // Its memory is not seen.
  }
}

// Who observes. One takes another's place by coming before that goes, so that nothing is missed.
int observer_count = 0;
std::atomic<bool> is_observed{false};
bool latest_turn = false;
thread_local const at::RecordFunction* told_of = nullptr;
thread_local bool told_in_turn = false;

// Says whether an operation is to be recorded by the observer of this turn. Where there are two, both are told of what begins,
// one right after the other; and one that was told to go may be told of what began before.
__attribute__((noinline)) bool is_news(const at::RecordFunction& function, bool turn) {
  if (!is_observed.load(std::memory_order_relaxed)) {
    return false;
  }
  const bool known = told_of == &function && told_in_turn != turn;
  told_of = known ? nullptr : &function;
  told_in_turn = turn;
  return !known;
}

template <bool Turn, bool Inputs>
std::unique_ptr<at::ObserverContext> begin_in_turn(const at::RecordFunction& function) {
  const uint32_t now = unusual();
  if (C10_UNLIKELY((now & OBSERVERS) != 0) && !is_news(function, Turn)) {
    return nullptr;
  }
  if ((now & MEMORY) != 0) {
    see_memory_here(Inputs);
  }
  const bool is_plain = !ends_anywhere(function.scope()) && (now & OVERLOADS) == 0;
  if (C10_LIKELY(is_plain) && C10_LIKELY(begin_briefly<Inputs>(function))) {
    return nullptr;
  }
  return begin_in_full<Inputs>(function);
}

__attribute__((noinline)) void end_other(const at::RecordFunction& function, at::ObserverContext* context) {
  if (told_of == &function) {
    told_of = nullptr;
  }
  if (context != nullptr) {
    recorder.end_anywhere(static_cast<Anywhere*>(context)->span);
  } else if (!ends_anywhere(function.scope())) {
    recorder.end(&function);
  }
}

void end(const at::RecordFunction& function, at::ObserverContext* context) {
  const bool is_plain = !ends_anywhere(function.scope()) && (unusual() & OBSERVERS) == 0;
  if (C10_LIKELY(is_plain && context == nullptr)) {
    recorder.end(&function);
  } else {
    end_other(function, context);
  }
}

uint64_t observe(bool inputs, bool overloads) {
  try {
    set_unusual(OVERLOADS, overloads);
    set_unusual(OBSERVERS, observer_count != 0);
    is_observed = true;
    latest_turn = !latest_turn;
    const auto with_inputs = latest_turn ? &begin_in_turn<true, true> : &begin_in_turn<false, true>;
    const auto without = latest_turn ? &begin_in_turn<true, false> : &begin_in_turn<false, false>;
    const auto begin_now = inputs ? with_inputs : without;
    const auto handle = at::addGlobalCallback(at::RecordFunctionCallback(begin_now, &end).needsInputs(inputs));
    ++observer_count;
    return handle;
  } catch (...) {
    return 0;
  }
}

void ignore(uint64_t handle) {
  try {
    if (--observer_count == 0) {
      is_observed = false;
      set_unusual(OBSERVERS, true);
    }
    at::removeCallback(handle);
  } catch (...) {
    // It is told of what happens, and records nothing.
  }
}

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
  hot.recorder = *given;
  return &shim;
}
