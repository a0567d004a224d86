// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include <latchd/base/batch_depths.hpp>

#include <gtest/gtest.h>

namespace latchd {
namespace {

TEST(BatchDepths, counts_a_depth_up_to_the_power_of_two_above_it) {
    for (const auto& [depth, bucket] : {std::pair{1u, 0u},
                                        {2u, 1u},
                                        {3u, 2u},
                                        {4u, 2u},
                                        {5u, 3u},
                                        {1024u, 10u},
                                        {1025u, 11u},
                                        {100'000u, 11u}}) {
        BatchDepths depths;
        depths.add(depth);
        EXPECT_EQ(depths.at(bucket), 1u) << depth;
        if (bucket + 1 < BatchDepths::buckets) {
            EXPECT_LE(depth, BatchDepths::upper(bucket));
        }
        EXPECT_EQ(depths.commands(), depth);
    }
}

TEST(BatchDepths, counts_no_batch_of_nothing) {
    BatchDepths depths;
    depths.add(0);
    EXPECT_EQ(depths.batches(), 0u);
}

}  // namespace
}  // namespace latchd
