package publish_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// endOffsets sums the end offsets of all partitions.
func endOffsets(ctx context.Context, tb testing.TB, client *kgo.Client, topic string) int64 {
	tb.Helper()
	ask := kmsg.NewPtrMetadataRequest()
	asked := kmsg.NewMetadataRequestTopic()
	asked.Topic = &topic
	ask.Topics = append(ask.Topics, asked)
	metadata, err := ask.RequestWith(ctx, client)
	require.NoError(tb, err)

	list := kmsg.NewPtrListOffsetsRequest()
	wanted := kmsg.NewListOffsetsRequestTopic()
	wanted.Topic = topic
	for _, p := range metadata.Topics[0].Partitions {
		partition := kmsg.NewListOffsetsRequestTopicPartition()
		partition.Partition, partition.Timestamp = p.Partition, -1
		wanted.Partitions = append(wanted.Partitions, partition)
	}
	list.Topics = append(list.Topics, wanted)
	var sum int64
	for _, shard := range client.RequestSharded(ctx, list) {
		require.NoError(tb, shard.Err)
		for _, at := range shard.Resp.(*kmsg.ListOffsetsResponse).Topics {
			for _, p := range at.Partitions {
				require.Zero(tb, p.ErrorCode)
				sum += p.Offset
			}
		}
	}
	return sum
}
