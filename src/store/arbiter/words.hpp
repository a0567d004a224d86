// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/core/authority/view.hpp>
#include <latchd/core/resource/registry.hpp>

#include <array>
#include <string_view>
#include <utility>

// How values of enumerations are written.
namespace latchd::store::arbiter {

template <class T>
struct Words;
template <>
struct Words<core::authority::Role> {
    using enum core::authority::Role;
    static constexpr std::array<std::pair<std::string_view, core::authority::Role>, 2> all{
        {{"master", master}, {"replica", replica}}};
};
template <>
struct Words<core::authority::RecordState> {
    using enum core::authority::RecordState;
    static constexpr std::array<std::pair<std::string_view, core::authority::RecordState>, 2> all{
        {{"open", open}, {"settling", settling}}};
};
template <>
struct Words<core::authority::TierSight::State> {
    using State = core::authority::TierSight::State;
    static constexpr std::array<std::pair<std::string_view, State>, 3> all{
        {{"unknown", State::unknown}, {"healthy", State::healthy}, {"failing", State::failing}}};
};
template <>
struct Words<core::Degrade> {
    using enum core::Degrade;
    static constexpr std::array<std::pair<std::string_view, core::Degrade>, 3> all{
        {{"none", none}, {"mysql", mysql}, {"local", local}}};
};
template <>
struct Words<core::Safety> {
    using enum core::Safety;
    static constexpr std::array<std::pair<std::string_view, core::Safety>, 2> all{
        {{"available", available}, {"strict", strict}}};
};

}  // namespace latchd::store::arbiter
