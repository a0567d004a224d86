// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "embedded.hpp"

#include <utility>

namespace latchd::store::local {
namespace {

class LocalStore final : public Store {
public:
    LocalStore(Options options, Sink& sink)
        : options_(std::move(options)), sink_(sink), embedded_(options_) {}

    void start() override {
        embedded_.start();
        is_open_ = true;
        sink_.deliver(embedded_.opening());
    }

    void stop() override { is_open_ = false; }

    void submit(core::OperationId id, core::Operation&& operation) override {
        if (!is_open_) return;
        sink_.deliver(core::StoreReplied{id, embedded_.apply(options_.boot_now(), operation)});
        // Other nodes of this table don't exist: nobody is left to tell.
        (void)embedded_.table().take_told();
        if (embedded_.begin_next_epoch()) sink_.deliver(embedded_.opening());
    }

    [[nodiscard]] Health health() const override { return embedded_.health(is_open_); }

private:
    Options options_;
    Sink& sink_;
    Embedded embedded_;
    bool is_open_ = false;
};

}  // namespace

std::unique_ptr<Store> make_store(Options options, Sink& sink) {
    return std::make_unique<LocalStore>(std::move(options), sink);
}

}  // namespace latchd::store::local
