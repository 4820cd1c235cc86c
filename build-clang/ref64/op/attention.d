build-clang/ref64/op/attention.o: ref/op/attention.c ref/op/kv.h \
  ref/base/case/args.h ref/base/format/matrix.h ref/base/num/dtype.h \
  ref/base/num/real.h ref/base/num/convert.h ref/op/lanes.h ref/op/op.h \
  ref/base/case/op.h

ref/op/kv.h:

ref/base/case/args.h:

ref/base/format/matrix.h:

ref/base/num/dtype.h:

ref/base/num/real.h:

ref/base/num/convert.h:

ref/op/lanes.h:

ref/op/op.h:

ref/base/case/op.h:
